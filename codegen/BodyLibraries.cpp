//===- BodyLibraries.cpp - Which library defines which body ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "codegen/BodyLibraries.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Object/Archive.h"
#include "llvm/Object/ELFObjectFile.h"
#include "llvm/Object/ObjectFile.h"

#include <map>
#include <vector>

using namespace rondo::codegen;
using namespace llvm::object;
using llvm::Error;
using llvm::StringRef;
using llvm::Twine;

static constexpr StringRef prefix = "rondo_body_";

namespace {

/// The bodies that files define.
class DefinedBodies {
public:
  Error add(StringRef file);

  /// The files that define a body; a file is listed once per definition.
  std::vector<std::string> filesWith(const std::string &body) const {
    auto it = files.find(body);
    return it == files.end() ? std::vector<std::string>() : it->second;
  }
  /// `'a', 'b'`; empty if there are none.
  std::string names() const {
    std::string text;
    for (const auto &[body, where] : files)
      text += (text.empty() ? "'" : ", '") + body + "'";
    return text;
  }
  /// Whether a file's symbols are visible only to a linker plug-in.
  bool isIncomplete() const { return hasBitcode; }

private:
  Error addSymbols(StringRef file, const Binary &binary);

  std::map<std::string, std::vector<std::string>> files;
  bool hasBitcode = false;
};

} // namespace

Error DefinedBodies::addSymbols(StringRef file, const Binary &binary) {
  const auto *object = llvm::dyn_cast<ObjectFile>(&binary);
  if (!object) {
    hasBitcode = true;
    return Error::success();
  }
  auto add = [&](const SymbolRef &symbol) -> Error {
    llvm::Expected<StringRef> name = symbol.getName();
    llvm::Expected<uint32_t> flags = symbol.getFlags();
    if (!name)
      return name.takeError();
    if (!flags)
      return flags.takeError();
    if (*name == "__gnu_lto_slim")
      hasBitcode = true;
    const bool isDefined =
        (*flags & SymbolRef::SF_Global) && !(*flags & SymbolRef::SF_Undefined);
    if (isDefined && name->consume_front(prefix))
      files[name->str()].push_back(file.str());
    return Error::success();
  };
  const auto *elf = llvm::dyn_cast<ELFObjectFileBase>(object);
  if (elf && elf->getEType() == llvm::ELF::ET_DYN) {
    for (const SymbolRef &symbol : elf->getDynamicSymbolIterators())
      if (Error error = add(symbol))
        return error;
    return Error::success();
  }
  for (const SymbolRef &symbol : object->symbols())
    if (Error error = add(symbol))
      return error;
  return Error::success();
}

Error DefinedBodies::add(StringRef file) {
  auto cannot = [&](Error error) {
    const std::string why = toString(std::move(error));
    return llvm::createStringError(
        "cannot take '" + file + "' as a library of bodies: " +
        llvm::StringRef(why).take_front(1).lower() +
        llvm::StringRef(why).drop_front(why.empty() ? 0 : 1).str() +
        "; it takes an object file (.o), an archive (.a) or a "
        "shared library (.so): compile a source first, with cc -c");
  };
  llvm::Expected<OwningBinary<Binary>> opened = createBinary(file);
  if (!opened)
    return cannot(opened.takeError());
  const Binary &binary = *opened->getBinary();
  const auto *archive = llvm::dyn_cast<Archive>(&binary);
  if (!archive) {
    if (Error error = addSymbols(file, binary))
      return cannot(std::move(error));
    return Error::success();
  }
  Error error = Error::success();
  for (const Archive::Child &child : archive->children(error)) {
    llvm::Expected<std::unique_ptr<Binary>> member = child.getAsBinary();
    if (!member)
      // Not linkable: a text file, for instance.
      llvm::consumeError(member.takeError());
    else if (Error inside = addSymbols(file, **member))
      return cannot(llvm::joinErrors(std::move(error), std::move(inside)));
  }
  return error ? cannot(std::move(error)) : Error::success();
}

Error rondo::codegen::checkBodies(llvm::ArrayRef<std::string> bodies,
                                  llvm::ArrayRef<std::string> libraries) {
  DefinedBodies defined;
  for (const std::string &file : libraries)
    if (Error error = defined.add(file))
      return error;
  for (const std::string &body : bodies) {
    const std::vector<std::string> files = defined.filesWith(body);
    if (files.size() == 1 || (files.empty() && defined.isIncomplete()))
      continue;
    if (!files.empty())
      return llvm::createStringError("body '" + body +
                                     "' is defined twice: in '" + files[0] +
                                     "' and in '" + files[1] + "'");
    const std::string names = defined.names();
    return llvm::createStringError(
        "no library defines body '" + body + "': '" +
        llvm::join(libraries, "', '") +
        (libraries.size() == 1 ? "' defines " : "' define ") +
        (names.empty() ? "none; RONDO_BODY(" + body + ") does" : names));
  }
  return Error::success();
}
