package io.alluvium.internal.execution;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.io.InputStream;
import java.lang.ref.WeakReference;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.junit.jupiter.api.Test;

/** What the threads of a process hold on to, and for whom they wait. */
public final class ThreadedExecutionTest {

  private static final long TIMEOUT_NANOS = TimeUnit.SECONDS.toNanos(30);

  @Test
  void thread_keepsNoClassLoaderOfWhoStartedIt() throws Exception {
    try (ThreadedExecution execution =
        new ThreadedExecution(new ThreadedExecution.Sizes(1, 1, 1))) {
      WeakReference<ClassLoader> job = startThreadFromAJob(execution.uploads());
      long deadline = System.nanoTime() + TIMEOUT_NANOS;
      while (job.get() != null && System.nanoTime() < deadline) {
        System.gc();
        Thread.sleep(10);
      }
      assertThat(job.get()).as("class loader of the job").isNull();
      assertThat(Thread.getAllStackTraces().keySet())
          .as("the thread is still there, with a minute to wait for work")
          .anyMatch(thread -> thread.getName().startsWith("alluvium-upload-"));
    }
  }

  @Test
  void giveWay_waitsForWhatGoesFirst_butNotForEver() {
    try (ThreadedExecution execution =
        new ThreadedExecution(new ThreadedExecution.Sizes(1, 1, 1))) {
      long start = System.nanoTime();
      long waited =
          execution.first(
              () -> {
                execution.giveWay();
                return System.nanoTime() - start;
              });
      assertThat(waited).isGreaterThanOrEqualTo(TimeUnit.MILLISECONDS.toNanos(1));
    }
  }

  /** As a task does: with classes of the job's loader on the stack. */
  private static WeakReference<ClassLoader> startThreadFromAJob(Executor executor)
      throws Exception {
    ClassLoader loader = new JobClassLoader();
    Object code = loader.loadClass(JobCode.class.getName()).getDeclaredConstructor().newInstance();
    assertThat(code.getClass().getClassLoader()).isSameAs(loader);
    @SuppressWarnings("unchecked") // as declared
    Consumer<Executor> job = (Consumer<Executor>) code;
    Thread task = new Thread(() -> job.accept(executor));
    task.setContextClassLoader(loader);
    task.start();
    task.join();
    return new WeakReference<>(loader);
  }

  /** Runs something on a thread of an executor, and waits for it. */
  public static final class JobCode implements Consumer<Executor> {

    public JobCode() {}

    @Override
    public void accept(Executor executor) {
      CountDownLatch done = new CountDownLatch(1);
      executor.execute(done::countDown);
      try {
        done.await();
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
      }
    }
  }

  /** Loads a copy of {@link JobCode} and nothing else by itself. */
  private static final class JobClassLoader extends ClassLoader {

    JobClassLoader() {
      super(ThreadedExecutionTest.class.getClassLoader());
    }

    @Override
    public Class<?> loadClass(String name) throws ClassNotFoundException {
      return name.equals(JobCode.class.getName()) ? own(name) : super.loadClass(name);
    }

    private Class<?> own(String name) throws ClassNotFoundException {
      try (InputStream in = getResourceAsStream(name.replace('.', '/') + ".class")) {
        byte[] bytes = in == null ? new byte[0] : in.readAllBytes();
        return defineClass(name, bytes, 0, bytes.length);
      } catch (IOException e) {
        throw new ClassNotFoundException(name, e);
      }
    }
  }
}
