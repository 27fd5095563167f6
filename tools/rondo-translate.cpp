//===- rondo-translate.cpp - From IR to other texts -----------------------===//

#include "mlir/InitAllTranslations.h"
#include "mlir/Support/LogicalResult.h"
#include "mlir/Tools/mlir-translate/MlirTranslateMain.h"

int main(int argc, char **argv) {
  // --mlir-to-cpp, for what pipe-convert-to-emitc writes. Only the translations
  // that Rondo needs are registered.
  mlir::registerToCppTranslation();
  return mlir::failed(
      mlir::mlirTranslateMain(argc, argv, "Rondo's translations\n"));
}
