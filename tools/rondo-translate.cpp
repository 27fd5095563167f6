//===- rondo-translate.cpp - Between the language and other texts ---------===//

#include "formats/Translations.h"

#include "mlir/Support/LogicalResult.h"
#include "mlir/Tools/mlir-translate/MlirTranslateMain.h"

int main(int argc, char **argv) {
  rondo::formats::registerTranslations();
  return mlir::failed(
      mlir::mlirTranslateMain(argc, argv, "Rondo's translations\n"));
}
