package io.alluvium.cli;

import picocli.CommandLine.IVersionProvider;

/** The version in the jar's manifest. Stateless. */
final class Version implements IVersionProvider {

  @Override
  public String[] getVersion() {
    String version = Version.class.getPackage().getImplementationVersion();
    return new String[] {"alluvium " + (version == null ? "(not from a jar)" : version)};
  }
}
