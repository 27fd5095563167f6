//===- Command.cpp - Reads and writes shell commands ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "formats/launch/Command.h"

#include "formats/ShellWord.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"

using namespace rondo::launch;
using llvm::StringRef;

namespace {

struct Word {
  std::string text;
  int64_t line = 0;
};
using Words = std::vector<Word>;

bool isNameStart(char c) { return llvm::isAlpha(c) || c == '_'; }
bool isNamePart(char c) { return llvm::isAlnum(c) || c == '_'; }

/// `NAME=` or `NAME+=` at the start of a word.
struct Assignment {
  StringRef name;
  /// Length of the part before the value; 0: the word is no assignment.
  size_t length = 0;
  bool isAppended = false;
};
Assignment assignmentOf(StringRef word) {
  const StringRef rest = word.drop_while(isNamePart);
  Assignment result;
  result.name = word.drop_back(rest.size());
  result.isAppended = rest.starts_with("+=");
  if (!result.name.empty() && isNameStart(result.name.front()) &&
      (result.isAppended || rest.starts_with("=")))
    result.length = result.name.size() + (result.isAppended ? 2 : 1);
  return result;
}

/// The most bytes that the variables of a script may add.
constexpr size_t maxExpanded = 1 << 20;

/// Splits a script into commands and keeps its variables.
class Script {
public:
  explicit Script(StringRef text) : text(text) {}

  /// Returns what is wrong, or nothing.
  std::string read();
  bool isTooLong() const { return expanded > maxExpanded; }

  std::vector<Words> commands;
  std::vector<std::pair<std::string, std::string>> exported;

private:
  char peek(size_t ahead = 0) const {
    return at + ahead < text.size() ? text[at + ahead] : '\0';
  }
  bool isAtEnd() const { return at >= text.size(); }
  void skipRedirection();
  bool skipContinuation();
  void step();
  void append(char c) {
    current += c;
    isOpen = true;
  }
  std::string readQuoted(char quote);
  void expand(bool isQuoted);
  void endWord();
  void endCommand();
  bool beginArray();
  void endArray();

  StringRef text;
  size_t at = 0;
  int64_t line = 1;
  /// The word that is being read, if one is open.
  std::string current;
  bool isOpen = false;
  /// Bytes that variables have added.
  size_t expanded = 0;
  /// The array whose words are being read; empty: none.
  std::string array;
  Words words;
  llvm::StringMap<std::vector<std::string>> variables;
};

/// The words that a script was called with are not known.
void Script::endWord() {
  if (isOpen && current != "$@" && current != "$*")
    words.push_back({current, line});
  current.clear();
  isOpen = false;
}

/// Assignments set variables; those before a command or after `export` are its
/// environment.
void Script::endCommand() {
  endWord();
  Words command;
  std::swap(command, words);
  size_t first = 0;
  const bool isExport = !command.empty() && command[0].text == "export";
  std::vector<std::pair<std::string, std::string>> assigned;
  for (first = isExport; first < command.size(); ++first) {
    const StringRef word = command[first].text;
    const Assignment assignment = assignmentOf(word);
    if (assignment.length == 0)
      break;
    assigned.emplace_back(assignment.name.str(),
                          word.drop_front(assignment.length).str());
    std::vector<std::string> &values = variables[assignment.name];
    if (!assignment.isAppended)
      values.clear();
    if (values.empty())
      values.emplace_back();
    values.front() += assigned.back().second;
    if (assignment.isAppended)
      assigned.back().second = values.front();
  }
  const bool isCommand = !isExport && first < command.size();
  if (isExport || isCommand)
    llvm::append_range(exported, assigned);
  if (isCommand)
    commands.emplace_back(command.begin() + int64_t(first), command.end());
}

/// `$NAME`, `${NAME}`, `${NAME:-default}`, `${NAME[@]}`, split into words
/// unless quoted. What has no value stays as it is.
void Script::expand(bool isQuoted) {
  const size_t begin = at++;
  std::string name;
  std::vector<std::string> ifUnset;
  if (peek() == '{') {
    const size_t end = text.find('}', at);
    const StringRef inside = text.slice(at + 1, end);
    at = end == StringRef::npos ? text.size() : end + 1;
    StringRef rest = inside.drop_while(isNamePart);
    name = inside.take_front(inside.size() - rest.size()).str();
    if (!rest.consume_front("[@]"))
      rest.consume_front("[*]");
    if (rest.consume_front(":-") || rest.consume_front("-"))
      ifUnset = {rest.trim("\"'").str()};
  } else {
    while (isNamePart(peek()))
      name += text[at++];
  }
  const auto found = variables.find(name);
  const std::vector<std::string> &values =
      found != variables.end() ? found->second : ifUnset;
  if (values.empty() && found == variables.end()) {
    const StringRef original = text.slice(begin, std::max(at, begin + 1));
    at = std::max(at, begin + 1);
    current += original;
    isOpen = true;
    return;
  }
  // `A=$B` is one word too.
  const bool isAssigned =
      array.empty() && words.empty() && assignmentOf(current).length > 0;
  llvm::SmallVector<std::string> parts;
  for (const std::string &value : values) {
    if (isQuoted || isAssigned) {
      parts.push_back(value);
      continue;
    }
    llvm::SmallVector<StringRef> split;
    llvm::SplitString(value, split, " \t\r\n");
    for (StringRef part : split)
      parts.push_back(part.str());
  }
  for (size_t i = 0; i < parts.size(); ++i) {
    if (i > 0)
      endWord();
    expanded += parts[i].size();
    // Variables that repeat each other double with every line.
    if (expanded > maxExpanded)
      return;
    current += parts[i];
    isOpen = true;
  }
}

/// A backslash at the end of a line, and the end of the line.
bool Script::skipContinuation() {
  const size_t length = peek(1) == '\r' ? 3 : 2;
  if (peek() != '\\' || peek(length - 1) != '\n')
    return false;
  at += length;
  ++line;
  return true;
}

std::string Script::readQuoted(char quote) {
  const int64_t begin = line;
  const size_t first = ++at;
  const bool wasOpen = isOpen;
  isOpen = true;
  while (!isAtEnd() && peek() != quote) {
    if (quote == '"' && peek() == '$' &&
        (isNameStart(peek(1)) || peek(1) == '{')) {
      expand(/*isQuoted=*/true);
      continue;
    }
    if (quote == '"' && skipContinuation())
      continue;
    if (quote == '"' && peek() == '\\' && StringRef("\"\\$`").contains(peek(1)))
      ++at;
    if (peek() == '\n')
      ++line;
    current += text[at++];
  }
  if (isAtEnd())
    return "line " + std::to_string(begin) + " has a " + std::string(1, quote) +
           " without a second one";
  // An array without elements is no word.
  const StringRef inside = text.slice(first, at);
  if (inside.starts_with("${") && inside.ends_with("[@]}") && current.empty())
    isOpen = wasOpen;
  ++at;
  return "";
}

/// `NAME=(` or `NAME+=(`: the words up to `)` are the variable's.
bool Script::beginArray() {
  if (!array.empty() || !words.empty())
    return false;
  const Assignment assignment = assignmentOf(current);
  if (assignment.length == 0 || assignment.length != current.size())
    return false;
  array = assignment.name.str();
  if (!assignment.isAppended)
    variables[array].clear();
  current.clear();
  isOpen = false;
  return true;
}

void Script::endArray() {
  endWord();
  for (Word &word : words)
    variables[array].push_back(std::move(word.text));
  words.clear();
  array.clear();
}

/// `2>&1`, `> log`.
void Script::skipRedirection() {
  if (!StringRef(current).empty() && llvm::all_of(current, llvm::isDigit)) {
    current.clear();
    isOpen = false;
  }
  endWord();
  while (StringRef("<>&").contains(peek()) && !isAtEnd())
    ++at;
  while (peek() == ' ' || peek() == '\t')
    ++at;
  while (!isAtEnd() && !llvm::isSpace(peek()))
    ++at;
}

void Script::step() {
  if (skipContinuation())
    return;
  const char c = peek();
  if (c == '\\' && peek(1) != '\0') {
    append(peek(1));
    at += 2;
    return;
  }
  if (c == '#' && !isOpen) {
    at = std::min(text.find('\n', at), text.size());
    return;
  }
  if (c == ' ' || c == '\t' || c == '\r') {
    endWord();
    ++at;
    return;
  }
  if (c == '\n') {
    endWord();
    ++at;
    ++line;
    // A flag continues the command before it, and so do blank lines.
    const StringRef next = text.drop_front(at).ltrim(" \t\r\n");
    if (array.empty() && !(next.starts_with("--") && !words.empty()))
      endCommand();
    return;
  }
  if (c == '$' && (isNameStart(peek(1)) || peek(1) == '{')) {
    expand(/*isQuoted=*/false);
    return;
  }
  if (c == '(' && beginArray()) {
    ++at;
    return;
  }
  if (c == ')' && !array.empty()) {
    endArray();
    ++at;
    return;
  }
  if (c == '>' || c == '<') {
    skipRedirection();
    return;
  }
  if (c == ';' || c == '&' || (c == '|' && !isOpen)) {
    endCommand();
    ++at;
    return;
  }
  append(c);
  ++at;
}

std::string Script::read() {
  while (!isAtEnd()) {
    const char c = peek();
    if (c == '\'' || c == '"') {
      if (std::string fault = readQuoted(c); !fault.empty())
        return fault;
      continue;
    }
    step();
  }
  if (!array.empty())
    return "the array " + array + " has no )";
  endCommand();
  return "";
}

bool isFlag(StringRef word) {
  return word.starts_with("--") && word.size() > 2;
}

/// The place of the program's first word, and of what follows it.
std::pair<size_t, size_t> findProgram(const Words &words) {
  for (size_t i = 0; i < words.size(); ++i) {
    const StringRef word = words[i].text;
    if (word == "-m" && i + 1 < words.size() &&
        !StringRef(words[i + 1].text).starts_with("torch.distributed"))
      return {i, i + 2};
    if (word.ends_with(".py") || word.ends_with(".sh"))
      return {i, i + 1};
  }
  size_t first = 0;
  while (first < words.size() && !isFlag(words[first].text))
    ++first;
  return {first, first};
}

void addFlags(llvm::ArrayRef<Word> words, Command &command) {
  for (const Word &word : words) {
    if (isFlag(word.text)) {
      const auto [name, value] = StringRef(word.text).split('=');
      Flag flag = {name.str(), {}, word.line};
      if (name.size() < word.text.size())
        flag.values.push_back(value.str());
      command.flags.push_back(std::move(flag));
    } else if (!command.flags.empty()) {
      command.flags.back().values.push_back(word.text);
    } else {
      command.flags.push_back({word.text, {}, word.line});
    }
  }
}

} // namespace

std::string Command::text() const {
  std::vector<std::string> lines;
  std::string first;
  for (const auto &[name, value] : environment)
    first += name + "=" + shellWord(value) + " ";
  for (const std::vector<std::string> *words : {&launcher, &program})
    for (const std::string &word : *words)
      first += shellWord(word) + " ";
  if (!first.empty())
    lines.push_back(StringRef(first).rtrim().str());
  for (const Flag &flag : flags) {
    std::string line = first.empty() ? "" : "  ";
    line += flag.name;
    for (const std::string &value : flag.values)
      line += " " + shellWord(value);
    lines.push_back(line);
  }
  return llvm::join(lines, first.empty() ? "\n" : " \\\n") + "\n";
}

/// 0: not a number of devices.
static int64_t countIn(StringRef text) {
  int64_t count = 0;
  if (text.getAsInteger(10, count) || count < 1 || count > maxNumber)
    return 0;
  return count;
}

int64_t rondo::launch::devicesOf(const Command &command) {
  const std::vector<std::string> &words = command.launcher;
  int64_t nodes = 1, ofNode = 0;
  for (size_t i = 0; i < words.size(); ++i) {
    auto [name, value] = StringRef(words[i]).split('=');
    if (name.size() == words[i].size() && i + 1 < words.size())
      value = words[i + 1];
    std::string dashed = name.str();
    std::replace(dashed.begin(), dashed.end(), '_', '-');
    if (dashed == "--nnodes")
      nodes = countIn(value);
    if (dashed == "--nproc-per-node")
      ofNode = countIn(value);
  }
  if (nodes * ofNode > 0)
    return nodes * ofNode;
  for (const auto &[name, value] : command.environment)
    if (name == "WORLD_SIZE" || name == "NGPU")
      return countIn(value);
  return 0;
}

void rondo::launch::launchByTorchrun(Command &command, int64_t devices,
                                     int64_t nodeDevices) {
  const int64_t ofNode = std::min(devices, nodeDevices);
  const int64_t nodes = (devices + ofNode - 1) / ofNode;
  command.launcher = {"torchrun", "--nproc-per-node", std::to_string(ofNode)};
  if (nodes > 1)
    command.launcher.insert(command.launcher.end(),
                            {"--nnodes", std::to_string(nodes)});
}

ReadCommand rondo::launch::readCommand(StringRef text) {
  ReadCommand result;
  Script script(text);
  result.fault = script.read();
  if (result.fault.empty() && script.isTooLong())
    result.fault = "the values of its variables have more than " +
                   std::to_string(maxExpanded) +
                   " bytes: give the command line alone";
  if (!result.fault.empty())
    return result;
  size_t most = 0;
  const Words *found = nullptr;
  for (const Words &words : script.commands) {
    const auto flags = size_t(llvm::count_if(
        words, [](const Word &word) { return isFlag(word.text); }));
    if (flags > most) {
      most = flags;
      found = &words;
    }
  }
  if (!found) {
    result.fault = "no command with flags such as --name value was found";
    return result;
  }
  Command &command = result.command;
  command.environment = std::move(script.exported);
  const auto [program, flags] = findProgram(*found);
  for (size_t i = 0; i < program; ++i)
    command.launcher.push_back((*found)[i].text);
  for (size_t i = program; i < flags; ++i)
    command.program.push_back((*found)[i].text);
  addFlags(llvm::ArrayRef(*found).drop_front(flags), command);
  return result;
}
