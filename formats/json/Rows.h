//===- Rows.h - Kinds of rows of tables of keys -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A key of an object fills a number, a word, a string, an object, or a list.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_FORMATS_JSON_ROWS_H
#define RONDO_FORMATS_JSON_ROWS_H

#include "formats/json/Table.h"

namespace rondo::json {

/// A word of an enum.
template <typename Enum> struct Word {
  const char *name;
  Enum value;
  enum { Current, Earlier, NotSupported } use = Current;
};

/// `"a", "b" or "c"`.
std::string listOfWords(llvm::ArrayRef<const char *> words);
/// `0 to 9`, `1 or more`, with powers of 2 as such.
std::string describeRange(int64_t least, int64_t most);

/// A whole number from `least` to `most`, or null for `nullIs` if that is set.
struct Range {
  int64_t least, most;
  std::optional<int64_t> nullIs = std::nullopt;
  /// Not negative: this limit of the context is lower than `most`.
  int mostOf = -1;
};
inline constexpr Range figure = {0, maxFigure};

/// The rules of a list.
struct ListRule {
  bool mayBeEmpty = false;
  /// Whether messages quote what is no list.
  bool isQuoted = false;
  /// After `is empty`.
  const char *advice = "";
};
inline constexpr ListRule notEmpty = {false, false, ""},
                          anyList = {true, false, ""},
                          quotedList = {false, true, ""},
                          anyQuotedList = {true, true, ""};

std::optional<TextFault> readNumber(const Place &place, Value value,
                                    const Range &range, int64_t &number);

/// Makes the rows of the table of T.
template <typename T> struct Rows {
  using Check = std::optional<TextFault>;

  /// A row with a function of its own.
  template <typename Read>
  static Field<T> custom(const char *name, std::string type, Read read) {
    Field<T> field(name);
    field.key->type = std::move(type);
    field.key->read = [read](const Place &place, Value value, void *object) {
      return Check(read(place, value, *static_cast<T *>(object)));
    };
    return field;
  }

  /// The row of a table of a base of T.
  template <typename Base>
  static Field<T> of(const Table<Base> &table, llvm::StringRef name) {
    const auto found = llvm::find_if(
        table.keys(), [&](const auto &key) { return name == key->name; });
    assert(found != table.keys().end() && "a key of the other table");
    const auto key = *found;
    Field<T> field("");
    *field.key = *key;
    field.key->read = [key](const Place &place, Value value, void *object) {
      return key->read(place, value, static_cast<Base *>(toT(object)));
    };
    if (key->write)
      field.key->write = [key](llvm::json::OStream &json, const void *object) {
        key->write(json, static_cast<const Base *>(toT(object)));
      };
    if (key->differs)
      field.key->differs = [key](const void *object) {
        return key->differs(static_cast<const Base *>(toT(object)));
      };
    return field;
  }

  /// The name and version of the format, which writers write. Null: readers
  /// check it before all else.
  static Field<T> formatName(const char *expected = nullptr) {
    return custom("format", "a string",
                  [expected](const Place &place, Value value, T &) {
                    return !expected || value.string() == std::string(expected)
                               ? Check()
                               : place.wrong(value, quoted(expected));
                  });
  }

  /// `Number` is an integer or an optional one, of T or of a base of it.
  template <typename Number, typename Base>
  static Field<T> number(const char *name, Number Base::*figure,
                         const Range &range) {
    Number T::*member = figure;
    auto field = custom(
        name, std::string("whole, ") + describeRange(range.least, range.most),
        [member, range](const Place &place, Value value, T &to) {
          int64_t number = 0;
          Check fault = readNumber(place, value, range, number);
          if (!fault)
            to.*member = narrow<Number>(number);
          return fault;
        });
    if (range.nullIs)
      field.key->type += ", or null";
    written(field, member,
            [range](llvm::json::OStream &json, const Number &value) {
              if (const auto found = wide(value); found == range.nullIs)
                json.value(nullptr);
              else
                json.value(*found);
            });
    return field;
  }

  static Field<T> text(const char *name, std::string T::*member) {
    auto field = custom(name, "a string",
                        [member](const Place &place, Value value, T &to) {
                          auto found = value.string();
                          if (!found)
                            return Check(place.wrong(value, "a string"));
                          to.*member = std::move(*found);
                          return Check();
                        });
    written(field, member,
            [](llvm::json::OStream &json, const std::string &text) {
              json.value(text);
            });
    return field;
  }
  /// A value that is kept as text and read later.
  static Field<T> value(const char *name, std::string type,
                        std::optional<Value> T::*member) {
    return custom(name, std::move(type),
                  [member](const Place &, Value value, T &to) {
                    to.*member = value;
                    return Check();
                  });
  }
  /// A string with at least a letter.
  static Field<T> title(const char *name, std::string T::*member) {
    return custom(name, "a string that is not empty",
                  [member](const Place &place, Value value, T &to) {
                    auto found = value.string();
                    if (!found || found->empty())
                      return Check(
                          place.wrong(value, "a string with a letter"));
                    to.*member = std::move(*found);
                    return Check();
                  });
  }

  /// A word of an enum. `Member` is the enum or an optional one, of T or of a
  /// base of it.
  template <typename Enum, typename Member, typename Base>
  static Field<T> word(const char *name, Member Base::*of,
                       std::vector<Word<Enum>> words) {
    Member T::*member = of;
    std::vector<const char *> known;
    for (const Word<Enum> &word : words)
      if (word.use != Word<Enum>::Earlier)
        known.push_back(word.name);
    const std::string list = listOfWords(known);
    auto field = custom(
        name, list,
        [member, words, list](const Place &place, Value value, T &to) {
          const auto found = value.string();
          for (const Word<Enum> &word : words) {
            if (found != std::string(word.name))
              continue;
            if (word.use == Word<Enum>::NotSupported)
              return Check(place.notSupported(value, " " + value.excerpt()));
            to.*member = word.value;
            return Check();
          }
          return Check(place.wrong(value, list));
        });
    written(field, member,
            [words](llvm::json::OStream &json, const Member &value) {
              for (const Word<Enum> &word : words)
                if (word.use == Word<Enum>::Current && word.value == value)
                  json.value(word.name);
            });
    return field;
  }
  /// The words of an enum in the order of its values.
  template <typename Enum, size_t n>
  static Field<T> word(const char *name, Enum T::*member,
                       const char *const (&words)[n]) {
    std::vector<Word<Enum>> list;
    for (size_t i = 0; i < n; ++i)
      list.push_back({words[i], static_cast<Enum>(i)});
    return word(name, member, std::move(list));
  }

  static Field<T> flag(const char *name, bool T::*member) {
    auto field =
        custom(name, "true or false",
               [member](const Place &place, Value value, T &to) {
                 const auto is = value.boolean();
                 to.*member = is.value_or(false);
                 return is ? Check() : place.wrong(value, "true or false");
               });
    written(field, member,
            [](llvm::json::OStream &json, const bool &is) { json.value(is); });
    return field;
  }

  /// An object of another table; `Member` may be optional.
  template <typename Member, typename Inside>
  static Field<T> object(const char *name, Member T::*member,
                         const Table<Inside> &table) {
    auto field =
        custom(name, "an object",
               [member, &table](const Place &place, Value value, T &to) {
                 if constexpr (std::is_same_v<Member, Inside>)
                   return table.read(place, value, to.*member);
                 else
                   return table.read(place, value, (to.*member).emplace());
               });
    field.key->inside = &table;
    field.key->differs = [member](const void *object) {
      if constexpr (std::is_same_v<Member, Inside>)
        return true;
      else
        return (static_cast<const T *>(object)->*member).has_value();
    };
    field.key->write = [member, &table](llvm::json::OStream &json,
                                        const void *object) {
      const auto &value = static_cast<const T *>(object)->*member;
      json.object([&] {
        if constexpr (std::is_same_v<Member, Inside>)
          table.write(json, value);
        else
          table.write(json, *value);
      });
    };
    return field;
  }

  /// A list. `read` fills an element that has been appended.
  template <typename Element, typename Read>
  static Field<T> listOf(const char *name, std::vector<Element> T::*member,
                         std::string type, Read read, const ListRule &rule) {
    auto field = custom(
        name, std::move(type), [=](const Place &place, Value value, T &to) {
          if (!value.isArray())
            return Check(rule.isQuoted ? place.wrong(value, "a list")
                                       : place.fault(value, " is not a list"));
          std::vector<Element> &list = to.*member;
          Elements walk(value);
          while (auto element = walk.next()) {
            const Place here = place[list.size()];
            if (Check fault = read(here, *element, list.emplace_back()))
              return fault;
          }
          if (list.empty() && !rule.mayBeEmpty)
            return Check(
                place.fault(value, llvm::Twine(" is empty") + rule.advice));
          return Check();
        });
    field.key->isList = true;
    field.key->differs = [member](const void *object) {
      return !(static_cast<const T *>(object)->*member).empty();
    };
    return field;
  }
  /// A list of objects.
  template <typename Element>
  static Field<T> list(const char *name, std::vector<Element> T::*member,
                       const Table<Element> &table,
                       const ListRule &rule = notEmpty) {
    auto field = listOf(
        name, member, "a list of objects",
        [&table](const Place &place, Value value, Element &element) {
          return table.read(place, value, element);
        },
        rule);
    field.key->inside = &table;
    field.key->write = [member, &table](llvm::json::OStream &json,
                                        const void *object) {
      json.array([&] {
        for (const Element &element : static_cast<const T *>(object)->*member)
          json.object([&] { table.write(json, element); });
      });
    };
    return field;
  }
  /// A list of whole numbers.
  static Field<T> numbers(const char *name, std::vector<int64_t> T::*member,
                          const Range &range, const ListRule &rule = notEmpty) {
    auto field = listOf(
        name, member, "a list of whole numbers",
        [range](const Place &place, Value value, int64_t &number) {
          return readNumber(place, value, range, number);
        },
        rule);
    field.key->write = [member](llvm::json::OStream &json, const void *object) {
      json.array([&] {
        for (int64_t number : static_cast<const T *>(object)->*member)
          json.value(number);
      });
    };
    return field;
  }

  /// A key that is not used; any value is allowed.
  static Field<T> ignored(const char *name, std::string type) {
    return custom(name, std::move(type),
                  [](const Place &, Value, T &) { return Check(); });
  }
  /// An object with any keys, each once, which is read and ignored.
  static Field<T> anyObject(const char *name) {
    return custom(name, "an object", [](const Place &place, Value value, T &) {
      return readAnyObject(value, place.path());
    });
  }
  /// A whole number of 1 or more of which one alone is supported.
  static Field<T> onlyNumber(const char *name, int64_t only) {
    return custom(
        name, "whole, 1 or more", [only](const Place &place, Value value, T &) {
          int64_t number = only;
          if (value.integer() == only)
            return Check();
          if (Check fault = readNumber(place, value, {1, maxFigure}, number))
            return fault;
          return Check(place.notSupported(value, " " + value.excerpt()));
        });
  }
  /// A word that fills nothing.
  static Field<T> onlyWord(const char *name, std::vector<Word<int>> words) {
    struct Nothing {
      int value = 0;
    };
    auto field = Rows<Nothing>::word(name, &Nothing::value, std::move(words));
    return custom(
        name, field.key->type,
        [read = field.key->read](const Place &place, Value value, T &) {
          Nothing nothing;
          return read(place, value, &nothing);
        });
  }
  /// Specified, but not supported.
  static Field<T> notSupported(const char *name, std::string type) {
    return custom(name, std::move(type),
                  [](const Place &place, Value value, T &) {
                    return Check(place.notSupported(value));
                  });
  }

private:
  static T *toT(void *object) { return static_cast<T *>(object); }
  static const T *toT(const void *object) {
    return static_cast<const T *>(object);
  }
  template <typename Number> static Number narrow(int64_t number) {
    if constexpr (std::is_integral_v<Number>)
      return static_cast<Number>(number);
    else
      return static_cast<typename Number::value_type>(number);
  }
  static std::optional<int64_t> wide(std::optional<int64_t> number) {
    return number;
  }
  template <typename Member, typename Write>
  static void written(Field<T> &field, Member T::*member, Write write) {
    field.key->write = [member, write](llvm::json::OStream &json,
                                       const void *object) {
      write(json, static_cast<const T *>(object)->*member);
    };
    field.key->differs = [member](const void *object) {
      static const T none{};
      return static_cast<const T *>(object)->*member != none.*member;
    };
  }
};

} // namespace rondo::json

#endif // RONDO_FORMATS_JSON_ROWS_H
