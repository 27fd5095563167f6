//===- Table.h - Objects of JSON formats as tables of keys ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A format is declared: each of its objects is a table with a row for each key,
// which states the member that the key fills, the range, the default, the
// version of the format that added it, and its meaning. Reading, writing, and
// the tables of docs/formats.md follow from it.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_FORMATS_JSON_TABLE_H
#define RONDO_FORMATS_JSON_TABLE_H

#include "formats/json/Fields.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/JSON.h"

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace rondo::json {

/// Keeps single figures away from the end of int64; the checks of problems have
/// all tighter limits.
inline constexpr int64_t maxFigure = int64_t(1) << 62;

/// The state of reading a document, in addition to its tables.
struct Context {
  /// Not empty: messages begin with line and column in it.
  llvm::StringRef text = "";
  /// The version of the format that the document states.
  int version = 1;
  /// The format and its version, which specify keys that are not supported.
  const char *format = "";
  /// Upper limits that earlier keys set, by `mostOf` of the rows.
  int64_t limits[3] = {INT64_MAX, INT64_MAX, INT64_MAX};
};

/// The path of a value in a document. It refers to the place of the object or
/// list around it, which must outlive it.
class Place {
public:
  /// The whole document, which messages call `name`.
  Place(Context &context, llvm::StringRef name)
      : context(context), name(name) {}

  Place operator[](llvm::StringRef key) const { return {*this, key, -1}; }
  Place operator[](size_t index) const {
    return {*this, "", static_cast<int64_t>(index)};
  }
  /// `stages[1].rank`.
  std::string path() const;
  /// The path, after line and column of the value if the context has a text.
  std::string of(Value value) const { return mark(value) + path(); }
  /// `line 3, column 4: ` if the context has a text.
  std::string mark(Value value) const;

  /// The path and `message`.
  TextFault fault(Value value, const llvm::Twine &message) const {
    return TextFault(of(value) + message.str());
  }
  /// The value is not `expected`.
  TextFault wrong(Value value, const llvm::Twine &expected) const {
    return fault(value, " is " + value.excerpt() + ", not " + expected);
  }
  /// `what` at this place is specified, but not supported.
  TextFault notSupported(Value value, const llvm::Twine &what = "") const {
    return fault(value, what + " is part of " + context.format +
                            ", but not supported yet");
  }

  Context &context;

private:
  Place(const Place &parent, llvm::StringRef name, int64_t index)
      : context(parent.context), parent(&parent), name(name), index(index) {}

  const Place *parent = nullptr;
  llvm::StringRef name;
  int64_t index = -1;
};

class TableBase;

/// A row of a table, without the type of the object.
class Key {
public:
  explicit Key(const char *name) : name(name) {}

  const char *name;
  /// Its name in files of earlier versions of Rondo; null if it had no other.
  const char *earlier = nullptr;
  bool isRequired = true;
  /// In version 1 it is required as well.
  bool isRequiredInVersion1 = false;
  /// The first version of the format with it.
  int since = 1;
  /// Whether it is written if it has its default.
  bool isAlwaysWritten = false;
  /// For the docs: the kind of value with its range, the default, the meaning.
  std::string type;
  const char *byDefault = "", *meaning = "";
  /// The table of an object or of a list's objects; null: neither.
  const TableBase *inside = nullptr;
  bool isList = false;

  bool isRequiredIn(int version) const {
    return isRequired || (version == 1 && isRequiredInVersion1);
  }

  std::function<std::optional<TextFault>(const Place &, Value, void *)> read;
  /// Null if it is written elsewhere, or never.
  std::function<void(llvm::json::OStream &, const void *)> write;
  /// Whether the member has another value than in a new object.
  std::function<bool(const void *)> differs;
};

/// A table without the type of its objects.
class TableBase {
public:
  llvm::ArrayRef<std::shared_ptr<Key>> keys() const { return rows; }
  /// As Table::read(); `object` is of the table's type.
  std::optional<TextFault> readInto(const Place &place, Value value,
                                    void *object) const;
  void writeFrom(llvm::json::OStream &json, const void *object) const;

protected:
  std::vector<std::shared_ptr<Key>> rows;
  /// Checks an object once all its keys have been read; may be
  /// empty.
  std::function<std::optional<TextFault>(const Place &, Value, void *)> check;

private:
  const Key *find(llvm::StringRef name, int version) const;
  TextFault unknownKey(const Place &place, Value value, llvm::StringRef name,
                       int version) const;
};

/// A row of the table of T. The functions in lower case state what it is.
template <typename T> class Field {
public:
  explicit Field(const char *name) : key(std::make_shared<Key>(name)) {}

  /// The rest of the row, for the docs: the default, or null if the key is
  /// required, the first version of the format with it, and its meaning.
  Field row(const char *byDefault, int since, const char *meaning) && {
    key->isRequired = !byDefault;
    key->byDefault = byDefault ? byDefault : "required";
    key->since = since;
    key->meaning = meaning;
    return std::move(*this);
  }
  Field requiredInVersion1() && {
    key->isRequiredInVersion1 = true;
    return std::move(*this);
  }
  Field earlier(const char *name) && {
    key->earlier = name;
    return std::move(*this);
  }
  Field alwaysWritten() && {
    key->isAlwaysWritten = true;
    return std::move(*this);
  }
  /// Null is read as if the key were left out.
  Field orNull() && {
    key->type += ", or null";
    key->read = [read = std::move(key->read)](const Place &place, Value value,
                                              void *object) {
      return value.isNull() ? std::optional<TextFault>()
                            : read(place, value, object);
    };
    return std::move(*this);
  }
  /// Null is specified, but not supported.
  Field nullNotSupported() && {
    key->read = [read = std::move(key->read)](const Place &place, Value value,
                                              void *object) {
      return value.isNull() ? place.notSupported(value, " null")
                            : read(place, value, object);
    };
    return std::move(*this);
  }
  /// Also keeps the text, for messages of later checks.
  Field keeps(std::optional<Value> T::*member) && {
    key->read = [read = std::move(key->read),
                 member](const Place &place, Value value, void *object) {
      static_cast<T *>(object)->*member = value;
      return read(place, value, object);
    };
    return std::move(*this);
  }
  /// Sets a limit of the context once the key has been read.
  Field limits(int limit, std::function<int64_t(const T &)> most) && {
    key->read = [read = std::move(key->read), limit, most = std::move(most)](
                    const Place &place, Value value, void *object) {
      auto fault = read(place, value, object);
      place.context.limits[limit] = most(*static_cast<T *>(object));
      return fault;
    };
    return std::move(*this);
  }

  std::shared_ptr<Key> key;
};

/// The keys of the objects that fill a T.
template <typename T> class Table : public TableBase {
public:
  explicit Table(std::vector<Field<T>> fields) {
    for (Field<T> &field : fields)
      rows.push_back(std::move(field.key));
  }
  /// Adds a check of each object that has been read: check(place, value, T &).
  template <typename Check> Table checked(Check check) && {
    this->check = [check](const Place &place, Value value, void *object) {
      return std::optional<TextFault>(
          check(place, value, *static_cast<T *>(object)));
    };
    return std::move(*this);
  }

  /// Reads the keys of an object in the order of the table, after checking that
  /// each key is known, appears once, and is there if it is required.
  std::optional<TextFault> read(const Place &place, Value value, T &to) const {
    return readInto(place, value, &to);
  }
  /// Writes the keys into an open object, in the order of the table.
  void write(llvm::json::OStream &json, const T &from) const {
    writeFrom(json, &from);
  }
};

/// An object of a format, with a row for each key, as the .def files have them:
///
///   FORMAT_OBJECT(linkTable, Link)
///   FORMAT_KEY(number("latency_ns", &T::latencyNs, figure), required, 1,
///   "...") FORMAT_END
///
/// The function `linkTable()` returns the table. T is the type, and rows are
/// made by functions of Rows<T>, or by any function in a FORMAT_ROW.
/// FORMAT_END_CHECKED names a check of each object.
#define FORMAT_OBJECT(name, type)                                              \
  const Table<type> &name() {                                                  \
    using T = type;                                                            \
    using R [[maybe_unused]] = Rows<T>;                                        \
    static const Table<T> table = Table<T>({
#define FORMAT_KEY(field, byDefault, since, meaning)                           \
  FORMAT_ROW(R::field, byDefault, since, meaning)
#define FORMAT_ROW(field, byDefault, since, meaning)                           \
  field.row(byDefault, since, meaning),
#define FORMAT_END                                                             \
  });                                                                          \
  return table;                                                                \
  }
#define FORMAT_END_CHECKED(check)                                              \
  }).checked(check);                                                           \
  return table;                                                                \
  }
/// In place of a default.
inline constexpr const char *required = nullptr;

/// The keys of a version of a format and of all objects in it, as the table of
/// docs/formats.md in Markdown.
void writeRows(llvm::raw_ostream &os, const TableBase &whole, int version);

} // namespace rondo::json

#endif // RONDO_FORMATS_JSON_TABLE_H
