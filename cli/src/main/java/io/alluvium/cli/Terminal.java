package io.alluvium.cli;

import java.util.Optional;
import me.tongfei.progressbar.ProgressBar;
import me.tongfei.progressbar.ProgressBarBuilder;
import me.tongfei.progressbar.ProgressBarStyle;

/** What standard error is connected to. Stateless. */
final class Terminal {

  private Terminal() {}

  /**
   * A progress bar, when somebody sees it. {@code bin/alluvium} tells, because Java cannot ask
   * about standard error alone.
   *
   * @param unit name of the unit shown
   * @param unitSize how many steps it is
   */
  static Optional<ProgressBar> progressBar(String task, String unit, long unitSize) {
    if (!Boolean.getBoolean("alluvium.terminal")) {
      return Optional.empty();
    }
    return Optional.of(
        new ProgressBarBuilder()
            .setTaskName(task)
            .setInitialMax(-1)
            .setUnit(unit, unitSize)
            .setUpdateIntervalMillis(200)
            .setStyle(ProgressBarStyle.ASCII)
            .build());
  }
}
