package io.alluvium.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.FileVisitResult;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.SimpleFileVisitor;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.regex.MatchResult;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/**
 * {@code docs/protocol.md} against the sources: each rule that is referred to is defined, each that
 * is defined is referred to, and the tests and models that it names exist. The same for the numbers
 * of design decisions.
 */
final class ProtocolPageTest {

  private static final Path ROOT = Path.of(System.getProperty("alluvium.root", ".."));
  private static final String PAGE = "docs/protocol.md";
  private static final String DECISIONS = "docs/design-decisions.md";

  /** Of one digit, so that percentiles are no rules; traces and decisions have more. */
  private static final String ID = "(?:[PLCR][0-9][a-z]?|[TD][0-9]{1,3})";

  private static final Pattern ID_ALONE = Pattern.compile(ID);
  private static final Pattern REFERENCE =
      Pattern.compile("\\((" + ID + "(?:(?:, | and )" + ID + ")*)\\)");
  private static final Pattern DEFINITION = Pattern.compile("\\*\\*(" + ID + ")\\.[ *]");
  private static final Pattern TEST_NAME =
      Pattern.compile("`([A-Z]\\w*(?:Test|IT|Conformance))(?:\\.(\\w+))?`");
  private static final Pattern MUTATION_NAME = Pattern.compile("`([a-z]+)/([a-z]+(?:-[a-z]+)*)`");
  private static final Pattern MUTATION =
      Pattern.compile("\"([a-z]+(?:-[a-z]+)*)\": Mutation\\(\\s*\\[([^]]*)]");

  /** Contents of Java sources, pages and models, by path from the root with {@code /}. */
  private static final Map<String, String> FILES = new TreeMap<>();

  @BeforeAll
  static void readFiles() throws IOException {
    Files.walkFileTree(
        ROOT,
        new SimpleFileVisitor<>() {
          @Override
          public FileVisitResult preVisitDirectory(Path directory, BasicFileAttributes attributes) {
            String name = String.valueOf(directory.getFileName());
            boolean skipped =
                !directory.equals(ROOT) && (name.startsWith(".") || name.equals("target"));
            return skipped ? FileVisitResult.SKIP_SUBTREE : FileVisitResult.CONTINUE;
          }

          @Override
          public FileVisitResult visitFile(Path file, BasicFileAttributes attributes)
              throws IOException {
            String name = ROOT.relativize(file).toString().replace('\\', '/');
            if (name.matches(".*\\.(java|md|py)|models/check")) {
              FILES.put(name, Files.readString(file));
            }
            return FileVisitResult.CONTINUE;
          }
        });
    assertThat(FILES).as("files below " + ROOT).hasSizeGreaterThan(500);
  }

  @Test
  void references_areThoseInParentheses() {
    assertThat(references("a (P2), b (L3, L3a and T12), c (P50) (P99.9) C4 (D7) (see R2)"))
        .containsExactly("D7", "L3", "L3a", "P2", "T12");
    assertThat(definitions("**P2. Text**\n| **T1.** |\n**Two.** **P3** (P4)"))
        .containsExactly("P2", "T1");
  }

  @Test
  void referredRules_areDefinedOnce() {
    List<String> defined = new ArrayList<>(definitions(page(PAGE)));
    defined.addAll(definitions(page(DECISIONS)));
    assertThat(defined).doesNotHaveDuplicates();
    Map<String, Set<String>> undefined = new TreeMap<>();
    FILES.forEach(
        (name, content) -> {
          Set<String> missing = references(content);
          missing.removeAll(defined);
          if (!missing.isEmpty() && !name.endsWith("/ProtocolPageTest.java")) {
            undefined.put(name, missing);
          }
        });
    assertThat(undefined)
        .as("rules that neither %s nor %s defines, by file", PAGE, DECISIONS)
        .isEmpty();
  }

  /** Merges of that page keep the lines of both sides, so that old text may come back. */
  @Test
  void decisions_areNumbered() {
    assertThat(page(DECISIONS).lines().filter(line -> line.matches("(- )?\\*\\*(?!D[0-9]).*")))
        .as("records of %s without a number", DECISIONS)
        .isEmpty();
  }

  @Test
  void definedRules_areReferredTo() {
    Set<String> unused = new TreeSet<>(definitions(page(PAGE)));
    FILES.forEach(
        (name, content) -> {
          if (!name.equals(PAGE) && !name.endsWith("/ProtocolPageTest.java")) {
            unused.removeAll(references(content));
          }
        });
    assertThat(unused).as("rules of %s that no source and no page refers to", PAGE).isEmpty();
  }

  @Test
  void namedTests_exist() {
    Map<String, String> sources =
        FILES.entrySet().stream()
            .filter(file -> file.getKey().endsWith(".java"))
            .collect(
                Collectors.toMap(
                    file -> file.getKey().replaceAll(".*/|\\.java$", ""),
                    Map.Entry::getValue,
                    String::concat));
    List<String> missing = new ArrayList<>();
    Set<String> named = new TreeSet<>();
    matches(TEST_NAME, page(PAGE))
        .forEach(
            match -> {
              named.add(match.group(1));
              String source = sources.getOrDefault(match.group(1), "");
              String method = match.group(2) == null ? "" : " " + match.group(2) + "(";
              if (source.isEmpty() || !source.contains(method)) {
                missing.add(match.group());
              }
            });
    assertThat(named).hasSizeGreaterThan(20);
    assertThat(missing).as("tests that %s names and that do not exist", PAGE).isEmpty();
  }

  @Test
  void everyRule_namesATest() {
    Set<String> without = new TreeSet<>();
    sections()
        .forEach(
            (rule, text) -> {
              if (!TEST_NAME.matcher(text).find()) {
                without.add(rule);
              }
            });
    assertThat(without).as("rules of %s without a test", PAGE).isEmpty();
  }

  @Test
  void mutationsOfTheModels_areNamedByTheirRules() {
    Set<String> existing = new TreeSet<>();
    Map<String, String> sections = sections();
    FILES.forEach(
        (name, content) -> {
          if (!name.startsWith("models/") || !name.endsWith(".py")) {
            return;
          }
          String model = name.replaceAll("models/|\\.py", "");
          matches(MUTATION, content)
              .forEach(
                  match -> {
                    String mutation = "`" + model + "/" + match.group(1) + "`";
                    existing.add(mutation);
                    ids(match.group(2))
                        .forEach(
                            rule ->
                                assertThat(sections.getOrDefault(rule, ""))
                                    .as("rule %s of %s", rule, PAGE)
                                    .contains(mutation));
                  });
          boolean isModel = existing.stream().anyMatch(each -> each.startsWith("`" + model + "/"));
          if (isModel) {
            assertThat(page("models/check")).as("models/check").contains("\"" + model + "\"");
          }
        });
    Set<String> named =
        matches(MUTATION_NAME, page(PAGE)).map(MatchResult::group).collect(Collectors.toSet());
    assertThat(named).as("mutations that %s names", PAGE).isEqualTo(existing).isNotEmpty();
  }

  private static String page(String name) {
    String content = FILES.get(name);
    if (content == null) {
      throw new UncheckedIOException(new IOException("no file " + ROOT.resolve(name)));
    }
    return content;
  }

  /** Text of each rule, from its definition to the next one, by id. */
  private static Map<String, String> sections() {
    Map<String, String> sections = new TreeMap<>();
    String page = page(PAGE);
    List<MatchResult> found = matches(DEFINITION, page).toList();
    for (int i = 0; i < found.size(); i++) {
      int end = i + 1 < found.size() ? found.get(i + 1).start() : page.length();
      sections.put(found.get(i).group(1), page.substring(found.get(i).start(), end));
    }
    return sections;
  }

  private static List<String> definitions(String page) {
    return matches(DEFINITION, page).map(match -> match.group(1)).toList();
  }

  private static Set<String> references(String content) {
    return matches(REFERENCE, content)
        .flatMap(match -> ids(match.group(1)))
        .collect(Collectors.toCollection(TreeSet::new));
  }

  private static Stream<String> ids(String list) {
    return matches(ID_ALONE, list).map(MatchResult::group);
  }

  private static Stream<MatchResult> matches(Pattern pattern, String text) {
    Matcher matcher = pattern.matcher(text);
    return matcher.results();
  }
}
