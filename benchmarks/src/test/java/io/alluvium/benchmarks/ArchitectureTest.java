package io.alluvium.benchmarks;

import static com.tngtech.archunit.base.DescribedPredicate.not;
import static com.tngtech.archunit.core.domain.JavaClass.Predicates.resideInAPackage;
import static com.tngtech.archunit.core.domain.JavaClass.Predicates.resideInAnyPackage;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses;
import static com.tngtech.archunit.library.Architectures.layeredArchitecture;
import static com.tngtech.archunit.library.GeneralCodingRules.ACCESS_STANDARD_STREAMS;

import com.tngtech.archunit.base.DescribedPredicate;
import com.tngtech.archunit.core.domain.JavaClass;
import com.tngtech.archunit.core.importer.ImportOption;
import com.tngtech.archunit.core.importer.Location;
import com.tngtech.archunit.junit.AnalyzeClasses;
import com.tngtech.archunit.junit.ArchTest;
import com.tngtech.archunit.lang.ArchRule;
import io.alluvium.benchmarks.ArchitectureTest.NoGeneratedBenchmarks;

/**
 * The modules and their allowed dependencies. The test is in this module because only this module
 * has all others on its class path.
 */
@AnalyzeClasses(
    packages = "io.alluvium",
    importOptions = {ImportOption.DoNotIncludeTests.class, NoGeneratedBenchmarks.class})
final class ArchitectureTest {
  private static final String DSTL = "io.alluvium.dstl..";
  private static final String ROCKSDB = "io.alluvium.rocksdb..";
  private static final String S3 = "io.alluvium.blobstore.s3..";
  private static final String FLINK = "io.alluvium.flink..";

  /** Translates Flink's options that use RocksDB's own types. */
  private static final String FLINK_ROCKSDB = "io.alluvium.flink.rocksdb..";

  private static final String TESTKIT = "io.alluvium.testkit..";
  private static final String TESTKIT_S3 = "io.alluvium.testkit.s3..";
  private static final String CLI = "io.alluvium.cli..";
  private static final String BENCHMARKS = "io.alluvium.benchmarks..";

  /** Core has all packages of the project that belong to no other module. */
  private static final DescribedPredicate<JavaClass> CORE =
      resideInAPackage("io.alluvium..")
          .and(not(resideInAnyPackage(DSTL, ROCKSDB, S3, FLINK, TESTKIT, CLI, BENCHMARKS)))
          .as("core");

  @ArchTest
  static final ArchRule modules_pointInOneDirection =
      layeredArchitecture()
          .consideringOnlyDependenciesInLayers()
          .withOptionalLayers(true)
          .layer("core")
          .definedBy(CORE)
          .layer("changelog-dstl")
          .definedBy(DSTL)
          .layer("rocksdb-materializer")
          .definedBy(ROCKSDB)
          .layer("blobstore-s3")
          .definedBy(S3)
          .layer("flink-adapter")
          .definedBy(FLINK)
          .layer("testkit")
          .definedBy(TESTKIT)
          .layer("cli")
          .definedBy(CLI)
          .layer("benchmarks")
          .definedBy(BENCHMARKS)
          .whereLayer("core")
          .mayNotAccessAnyLayer()
          .whereLayer("changelog-dstl")
          .mayOnlyAccessLayers("core")
          .whereLayer("rocksdb-materializer")
          .mayOnlyAccessLayers("core")
          .whereLayer("blobstore-s3")
          .mayOnlyAccessLayers("core")
          .whereLayer("flink-adapter")
          .mayOnlyAccessLayers("core", "rocksdb-materializer")
          .whereLayer("testkit")
          .mayOnlyAccessLayers("core")
          .whereLayer("cli")
          .mayOnlyAccessLayers("core", "changelog-dstl", "rocksdb-materializer")
          .whereLayer("benchmarks")
          .mayNotBeAccessedByAnyLayer();

  @ArchTest
  static final ArchRule rocksdb_staysInItsModule =
      noClasses()
          .that()
          .resideOutsideOfPackages(ROCKSDB, FLINK_ROCKSDB)
          .should()
          .dependOnClassesThat()
          .resideInAPackage("org.rocksdb..")
          .because("native handles stay where their owner closes them")
          .allowEmptyShould(true);

  @ArchTest
  static final ArchRule awsSdk_staysInItsModule =
      noClasses()
          .that()
          .resideOutsideOfPackages(S3, TESTKIT_S3, BENCHMARKS)
          .should()
          .dependOnClassesThat()
          .resideInAnyPackage("software.amazon..", "io.netty..")
          .because("users without S3 must not need the SDK")
          .allowEmptyShould(true);

  @ArchTest
  static final ArchRule lz4_staysInItsModule =
      noClasses()
          .that()
          .resideOutsideOfPackage(DSTL)
          .should()
          .dependOnClassesThat()
          .resideInAPackage("net.jpountz..")
          .because("the codec is part of the changelog's format")
          .allowEmptyShould(true);

  @ArchTest
  static final ArchRule internals_stayInCoreTestkitAndBenchmarks =
      noClasses()
          .that(not(CORE).and(not(resideInAnyPackage(TESTKIT, BENCHMARKS))))
          .should()
          .dependOnClassesThat()
          .resideInAPackage("io.alluvium.internal..")
          .because("the other modules use core only through its public API and SPI")
          .allowEmptyShould(true);

  @ArchTest
  static final ArchRule nothing_usesJavaSerialization =
      noClasses()
          .should()
          .dependOnClassesThat()
          .haveFullyQualifiedName("java.io.ObjectOutputStream")
          .orShould()
          .dependOnClassesThat()
          .haveFullyQualifiedName("java.io.ObjectInputStream")
          .because("durable data has a documented format, and reading it runs no foreign code");

  @ArchTest
  static final ArchRule nothing_usesUnsafe =
      noClasses()
          .should()
          .dependOnClassesThat()
          .haveFullyQualifiedName("sun.misc.Unsafe")
          .allowEmptyShould(true);

  @ArchTest
  static final ArchRule nothing_usesJavaUtilLogging =
      noClasses()
          .should()
          .dependOnClassesThat()
          .resideInAPackage("java.util.logging..")
          .because("a host chooses its logging through SLF4J")
          .allowEmptyShould(true);

  @ArchTest
  static final ArchRule libraries_leaveTheStandardStreamsAlone =
      noClasses()
          .that()
          .resideOutsideOfPackages(CLI, BENCHMARKS)
          .should(ACCESS_STANDARD_STREAMS)
          .because("they belong to the host")
          .allowEmptyShould(true);

  /** Excludes the generated code of JMH. */
  static final class NoGeneratedBenchmarks implements ImportOption {
    @Override
    public boolean includes(Location location) {
      return !location.contains("/jmh_generated/");
    }
  }
}
