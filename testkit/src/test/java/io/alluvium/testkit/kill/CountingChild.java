package io.alluvium.testkit.kill;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.concurrent.locks.LockSupport;

/** A program that counts up and acknowledges each stored number; continues after a kill. */
final class CountingChild {

  private CountingChild() {}

  public static void main(String[] arguments) throws IOException {
    Path stored = Path.of(arguments[0]);
    int limit = Integer.parseInt(arguments[1]);
    int count = Files.exists(stored) ? Integer.parseInt(Files.readString(stored)) : 0;
    System.err.println("starts at " + count);
    while (count < limit) {
      count++;
      Path temporary = Files.writeString(stored.resolveSibling("temporary"), "" + count);
      Files.move(temporary, stored, StandardCopyOption.ATOMIC_MOVE);
      System.out.println("checkpoint " + count + " confirmed");
      LockSupport.parkNanos(2_000_000);
    }
  }
}
