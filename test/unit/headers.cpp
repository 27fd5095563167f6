// Its precompiled headers are what the tests share:
// cmake/PrecompiledHeaders.cmake.
int main() {}
