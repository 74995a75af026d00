package io.alluvium.flink;

import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses;

import com.tngtech.archunit.core.importer.ImportOption;
import com.tngtech.archunit.junit.AnalyzeClasses;
import com.tngtech.archunit.junit.ArchTest;
import com.tngtech.archunit.lang.ArchRule;

/**
 * The adapter is a user of core like anybody else's, and leaves RocksDB to one package and its
 * module.
 */
@AnalyzeClasses(
    packages = "io.alluvium.flink",
    importOptions = ImportOption.DoNotIncludeTests.class)
final class ArchitectureTest {

  @ArchTest
  static final ArchRule adapter_usesOnlyCoresApi =
      noClasses()
          .should()
          .dependOnClassesThat()
          .resideInAnyPackage("io.alluvium.internal..", "io.alluvium.dstl..")
          .because("it translates; the protocol is core's, tables and log are found by name");

  @ArchTest
  static final ArchRule rocksDb_isKnownInOnePackage =
      noClasses()
          .that()
          .resideOutsideOfPackage("io.alluvium.flink.rocksdb")
          .should()
          .dependOnClassesThat()
          .resideInAnyPackage(
              "org.rocksdb..", "org.apache.flink.state.rocksdb..", "io.alluvium.rocksdb..")
          .because("what Flink says in RocksDB's types is translated there, and nowhere else");
}
