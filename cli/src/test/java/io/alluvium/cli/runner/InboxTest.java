package io.alluvium.cli.runner;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

final class InboxTest {
  @Test
  void poll_takesChannelsInTurns() throws InterruptedException {
    Inbox inbox = new Inbox(2);
    for (int i = 1; i <= 2; i++) {
      inbox.put(0, batch(i));
      inbox.put(1, batch(10 + i));
    }
    assertThat(inbox.poll(0)).isEqualTo(new Inbox.Received(0, batch(1)));
    assertThat(inbox.poll(0)).isEqualTo(new Inbox.Received(1, batch(11)));
    assertThat(inbox.poll(0)).isEqualTo(new Inbox.Received(0, batch(2)));
    assertThat(inbox.poll(0)).isEqualTo(new Inbox.Received(1, batch(12)));
    assertThat(inbox.poll(0)).isNull();
  }

  @Test
  void poll_heldChannel_waitsForItsRelease() throws InterruptedException {
    Inbox inbox = new Inbox(2);
    inbox.put(0, batch(1));
    inbox.put(1, batch(11));
    inbox.hold(0);
    assertThat(inbox.poll(0)).isEqualTo(new Inbox.Received(1, batch(11)));
    assertThat(inbox.poll(0)).isNull();
    inbox.releaseAll();
    assertThat(inbox.poll(0)).isEqualTo(new Inbox.Received(0, batch(1)));
  }

  @Test
  void put_fullChannel_waitsUntilSomethingIsTaken() throws Exception {
    Inbox inbox = new Inbox(2);
    CountDownLatch done = new CountDownLatch(1);
    Thread source =
        new Thread(
            () -> {
              try {
                for (int i = 0; i < 17; i++) {
                  inbox.put(0, batch(i));
                }
                done.countDown();
              } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
              }
            });
    source.start();
    while (source.getState() != Thread.State.WAITING && source.isAlive()) {
      Thread.sleep(1);
    }
    assertThat(done.getCount()).as("16 fit, the 17th does not").isEqualTo(1);
    inbox.put(1, batch(100));
    assertThat(inbox.poll(0)).isEqualTo(new Inbox.Received(0, batch(0)));
    assertThat(done.await(1, TimeUnit.MINUTES)).isTrue();
    source.join();
  }

  private static Message batch(long number) {
    return new Message.Batch(List.of(), number);
  }
}
