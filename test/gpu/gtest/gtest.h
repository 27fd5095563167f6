//===- gtest.h - The part of GoogleTest that our device tests use -*- C++ -*-=//
//
// For machines with a GPU and without GoogleTest: the same names, the same
// output. Only what the tests under test/unit/cuda and test/unit/runtime need;
// test/gpu/stand-in.test compiles them against this file.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_TEST_GPU_GTEST_GTEST_H
#define RONDO_TEST_GPU_GTEST_GTEST_H

#include <cmath>
#include <cstring>
#include <functional>
#include <iostream>
#include <limits>
#include <mutex>
#include <sstream>
#include <string>
#include <tuple>
#include <type_traits>
#include <vector>

namespace testing {

/// What a failed expectation says, collected by <<.
class Message {
public:
  template <typename T> Message &operator<<(const T &value) {
    text << value;
    return *this;
  }
  Message &operator<<(std::ostream &(*manipulator)(std::ostream &)) {
    text << manipulator;
    return *this;
  }
  std::string str() const { return text.str(); }

private:
  std::ostringstream text;
};

namespace internal {

enum class Outcome { Passed, Skipped, Failed };

/// Of the running test. Its threads share it.
struct Running {
  std::mutex mutex;
  Outcome outcome = Outcome::Passed;
  bool hasFatalFailure = false;
  std::vector<std::string> traces;

  static Running &get() {
    static Running running;
    return running;
  }
};

/// `Report(...) = Message() << ...` says it and has no value, so that it can
/// stand behind return.
struct Report {
  const char *file;
  int line;
  std::string what;
  Outcome outcome = Outcome::Failed;
  bool isFatal = false;

  void operator=(const Message &message) const {
    Running &running = Running::get();
    std::lock_guard<std::mutex> lock(running.mutex);
    if (outcome == Outcome::Failed || running.outcome == Outcome::Passed)
      running.outcome = outcome;
    running.hasFatalFailure |= isFatal;
    std::cout << file << ":" << line << ": "
              << (outcome == Outcome::Failed ? "Failure" : "Skipped") << "\n"
              << what;
    std::string more = message.str();
    if (!more.empty())
      std::cout << more << "\n";
    for (const std::string &trace : running.traces)
      std::cout << "  in " << trace << "\n";
    std::cout << std::flush;
  }
};

class Trace {
public:
  explicit Trace(const Message &message) {
    std::lock_guard<std::mutex> lock(Running::get().mutex);
    Running::get().traces.push_back(message.str());
  }
  ~Trace() {
    std::lock_guard<std::mutex> lock(Running::get().mutex);
    Running::get().traces.pop_back();
  }
};

//===----------------------------------------------------------------------===//
// Values as text
//===----------------------------------------------------------------------===//

template <typename T, typename = void> struct CanPrint : std::false_type {};
template <typename T>
struct CanPrint<T, std::void_t<decltype(std::declval<std::ostream &>()
                                        << std::declval<const T &>())>>
    : std::true_type {};

template <typename T, typename = void> struct IsRange : std::false_type {};
template <typename T>
struct IsRange<T, std::void_t<decltype(std::declval<const T &>().begin()),
                              decltype(std::declval<const T &>().end())>>
    : std::true_type {};

template <typename T> std::string print(const T &value) {
  std::ostringstream os;
  if constexpr (std::is_same_v<T, std::nullptr_t>) {
    os << "null";
  } else if constexpr (std::is_enum_v<T>) {
    os << +static_cast<std::underlying_type_t<T>>(value);
  } else if constexpr (std::is_same_v<T, bool>) {
    os << (value ? "true" : "false");
  } else if constexpr (std::is_integral_v<T>) {
    os << +value;
  } else if constexpr (std::is_floating_point_v<T>) {
    os.precision(std::numeric_limits<T>::max_digits10);
    os << value;
  } else if constexpr (CanPrint<T>::value) {
    os << value;
  } else if constexpr (IsRange<T>::value) {
    os << "{";
    for (const auto &element : value)
      os << " " << print(element);
    os << " }";
  } else {
    os << "a value of " << sizeof(T) << " bytes";
  }
  return os.str();
}

//===----------------------------------------------------------------------===//
// Expectations
//===----------------------------------------------------------------------===//

/// What is wrong; empty: nothing.
struct Result {
  std::string wrong;
  explicit operator bool() const { return wrong.empty(); }
};

template <typename A, typename B, typename Compare>
Result compare(const char *a, const char *b, const char *sign, const A &x,
               const B &y, Compare holds) {
  if (holds(x, y))
    return {};
  return {std::string("expected ") + a + " " + sign + " " + b + "\n  " +
          print(x) + " and " + print(y) + "\n"};
}

inline Result compareNear(const char *a, const char *b, double x, double y,
                          double tolerance) {
  if (std::fabs(x - y) <= tolerance)
    return {};
  return {std::string("expected ") + a + " near " + b + "\n  " + print(x) +
          " and " + print(y) + " differ by " + print(std::fabs(x - y)) +
          ", more than " + print(tolerance) + "\n"};
}

/// Within four units in the last place of the larger.
template <typename Real>
Result compareReal(const char *a, const char *b, Real x, Real y) {
  Real most = std::fmax(std::fabs(x), std::fabs(y));
  Real unit =
      std::nextafter(most, std::numeric_limits<Real>::infinity()) - most;
  if (x == y || std::fabs(x - y) <= 4 * unit)
    return {};
  return {std::string("expected ") + a + " == " + b + "\n  " + print(x) +
          " and " + print(y) + "\n"};
}

inline Result compareText(const char *a, const char *b, const char *x,
                          const char *y) {
  if (x == y || (x && y && std::strcmp(x, y) == 0))
    return {};
  return {std::string("expected ") + a + " == " + b + "\n  \"" +
          (x ? x : "null") + "\" and \"" + (y ? y : "null") + "\"\n"};
}

inline Result truth(const char *text, bool value, bool expected) {
  if (value == expected)
    return {};
  return {std::string("expected ") + text + " to be " +
          (expected ? "true" : "false") + "\n"};
}

} // namespace internal

//===----------------------------------------------------------------------===//
// Tests
//===----------------------------------------------------------------------===//

class Test {
public:
  virtual ~Test() = default;
  static void SetUpTestSuite() {}
  static void TearDownTestSuite() {}
  static bool HasFailure() {
    return internal::Running::get().outcome == internal::Outcome::Failed;
  }
  static bool HasFatalFailure() {
    return internal::Running::get().hasFatalFailure;
  }
  static bool IsSkipped() {
    return internal::Running::get().outcome == internal::Outcome::Skipped;
  }
  virtual void SetUp() {}
  virtual void TearDown() {}
  virtual void TestBody() = 0;
};

template <typename... Ts> struct Types {};

template <typename T> class WithParamInterface {
public:
  using ParamType = T;
  static const T &GetParam() { return *parameter; }
  static void setParameter(const T *value) { parameter = value; }

private:
  static inline const T *parameter = nullptr;
};

template <typename T>
class TestWithParam : public Test, public WithParamInterface<T> {};

template <typename T> struct TestParamInfo {
  T param;
  size_t index;
};

//===----------------------------------------------------------------------===//
// Parameters
//===----------------------------------------------------------------------===//

namespace internal {

template <typename... Ts> struct ValueList {
  std::tuple<Ts...> values;
  template <typename P> std::vector<P> as() const {
    return std::apply(
        [](const Ts &...each) {
          return std::vector<P>{static_cast<P>(each)...};
        },
        values);
  }
};

template <typename T> struct ValueRange {
  std::vector<T> values;
  template <typename P> std::vector<P> as() const {
    return std::vector<P>(values.begin(), values.end());
  }
};

/// Every combination; the last parameter changes fastest.
template <typename... Generators> struct Product {
  std::tuple<Generators...> generators;
  template <typename P> std::vector<P> as() const {
    std::vector<P> result;
    P current{};
    extend<0>(result, current);
    return result;
  }

private:
  template <size_t I, typename P>
  void extend(std::vector<P> &result, P &current) const {
    if constexpr (I == sizeof...(Generators)) {
      result.push_back(current);
    } else {
      using Element = std::tuple_element_t<I, P>;
      for (const auto &value : std::get<I>(generators).template as<Element>()) {
        std::get<I>(current) = value;
        extend<I + 1>(result, current);
      }
    }
  }
};

} // namespace internal

template <typename... Ts> internal::ValueList<Ts...> Values(Ts... values) {
  return {{values...}};
}
inline internal::ValueList<bool, bool> Bool() { return {{false, true}}; }
template <typename Container> auto ValuesIn(const Container &values) {
  using T = std::decay_t<decltype(*std::begin(values))>;
  return internal::ValueRange<T>{{std::begin(values), std::end(values)}};
}
template <typename... Generators>
internal::Product<Generators...> Combine(Generators... generators) {
  return {{generators...}};
}
template <typename T>
internal::ValueRange<T> Range(T first, T last, T step = 1) {
  internal::ValueRange<T> range;
  for (T value = first; value < last; value = value + step)
    range.values.push_back(value);
  return range;
}

//===----------------------------------------------------------------------===//
// The list of tests
//===----------------------------------------------------------------------===//

namespace internal {

struct Case {
  std::string suite, name;
  std::function<Test *()> make;
  void (*setUpSuite)();
  void (*tearDownSuite)();
};

inline std::vector<Case> &cases() {
  static std::vector<Case> list;
  return list;
}
/// Suites with parameters add their cases when all files are initialized.
inline std::vector<std::function<void()>> &expansions() {
  static std::vector<std::function<void()>> list;
  return list;
}

template <typename T> bool add(const std::string &suite, const char *name) {
  cases().push_back({suite, name, [] { return new T; }, T::SetUpTestSuite,
                     T::TearDownTestSuite});
  return true;
}

/// A TYPED_TEST with each of its types; suites are numbered.
template <template <typename> class T, typename... Ts>
bool addTyped(const char *suite, const char *name, Types<Ts...>) {
  int number = 0;
  (add<T<Ts>>(std::string(suite) + "/" + std::to_string(number++), name), ...);
  return true;
}

/// The TEST_Ps of one suite.
template <typename Suite> struct Pattern {
  using Param = typename Suite::ParamType;
  struct Entry {
    std::string name;
    Test *(*make)();
  };
  static std::vector<Entry> &entries() {
    static std::vector<Entry> list;
    return list;
  }
  template <typename T> static bool add(const char *name) {
    entries().push_back({name, []() -> Test * { return new T; }});
    return true;
  }
  static std::string number(const TestParamInfo<Param> &info) {
    return std::to_string(info.index);
  }
  template <typename Generator, typename Namer>
  static bool instantiate(const char *prefix, const char *suite,
                          Generator generator, Namer namer) {
    expansions().push_back([=] {
      static std::vector<std::vector<Param>> kept;
      kept.reserve(64);
      kept.push_back(generator.template as<Param>());
      const std::vector<Param> &values = kept.back();
      for (const Entry &entry : entries())
        for (size_t i = 0; i < values.size(); ++i) {
          const Param *value = &values[i];
          auto make = entry.make;
          cases().push_back(
              {std::string(prefix) + "/" + suite,
               entry.name + "/" + namer(TestParamInfo<Param>{*value, i}),
               [=] {
                 Suite::setParameter(value);
                 return make();
               },
               Suite::SetUpTestSuite, Suite::TearDownTestSuite});
        }
    });
    return true;
  }
  template <typename Generator>
  static bool instantiate(const char *prefix, const char *suite,
                          Generator generator) {
    return instantiate(prefix, suite, generator, number);
  }
};

} // namespace internal
} // namespace testing

#define RONDO_TEST_CLASS_(suite, name) suite##_##name##_Test

#define RONDO_TEST_BODY_(suite, name, base)                                    \
  class RONDO_TEST_CLASS_(suite, name) : public base {                         \
    void TestBody() override;                                                  \
    static const bool isListed;                                                \
  };
#define RONDO_TEST_(suite, name, base)                                         \
  RONDO_TEST_BODY_(suite, name, base)                                          \
  const bool RONDO_TEST_CLASS_(suite, name)::isListed =                        \
      ::testing::internal::add<RONDO_TEST_CLASS_(suite, name)>(#suite, #name); \
  void RONDO_TEST_CLASS_(suite, name)::TestBody()

#define TEST(suite, name) RONDO_TEST_(suite, name, ::testing::Test)
#define TEST_F(suite, name) RONDO_TEST_(suite, name, suite)
#define TEST_P(suite, name)                                                    \
  RONDO_TEST_BODY_(suite, name, suite)                                         \
  const bool RONDO_TEST_CLASS_(suite, name)::isListed =                        \
      ::testing::internal::Pattern<suite>::add<RONDO_TEST_CLASS_(              \
          suite, name)>(#name);                                                \
  void RONDO_TEST_CLASS_(suite, name)::TestBody()
#define TYPED_TEST_SUITE(suite, types, ...) using suite##RondoTypes = types
#define TYPED_TEST(suite, name)                                                \
  template <typename RondoType>                                                \
  class RONDO_TEST_CLASS_(suite, name) : public suite<RondoType> {             \
    using TestFixture = suite<RondoType>;                                      \
    using TypeParam = RondoType;                                               \
    void TestBody() override;                                                  \
  };                                                                           \
  static const bool suite##name##IsListed [[maybe_unused]] =                   \
      ::testing::internal::addTyped<RONDO_TEST_CLASS_(suite, name)>(           \
          #suite, #name, suite##RondoTypes());                                 \
  template <typename RondoType>                                                \
  void RONDO_TEST_CLASS_(suite, name)<RondoType>::TestBody()
#define INSTANTIATE_TEST_SUITE_P(prefix, suite, ...)                           \
  static const bool prefix##suite##IsListed [[maybe_unused]] =                 \
      ::testing::internal::Pattern<suite>::instantiate(#prefix, #suite,        \
                                                       __VA_ARGS__)
#define GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(suite) static_assert(true)

// The switch keeps an else of the caller away from the if.
#define RONDO_CHECK_(result, onFailure, fatal)                                 \
  switch (0)                                                                   \
  case 0:                                                                      \
  default:                                                                     \
    if (const ::testing::internal::Result rondoResult = result)                \
      ;                                                                        \
    else                                                                       \
      onFailure ::testing::internal::Report{                                   \
          __FILE__, __LINE__, rondoResult.wrong,                               \
          ::testing::internal::Outcome::Failed, fatal} = ::testing::Message()
#define RONDO_EXPECT_(result) RONDO_CHECK_(result, , false)
#define RONDO_ASSERT_(result) RONDO_CHECK_(result, return, true)

#define RONDO_COMPARE_(a, sign, b)                                             \
  ::testing::internal::compare(#a, #b, #sign, a, b,                            \
                               [](const auto &rondoX, const auto &rondoY) {    \
                                 return rondoX sign rondoY;                    \
                               })
#define RONDO_NEAR_(a, b, t) ::testing::internal::compareNear(#a, #b, a, b, t)
#define RONDO_REAL_(T, a, b) ::testing::internal::compareReal<T>(#a, #b, a, b)
#define RONDO_TEXT_(a, b) ::testing::internal::compareText(#a, #b, a, b)
#define RONDO_TRUTH_(a, value)                                                 \
  ::testing::internal::truth(#a, static_cast<bool>(a), value)

#define EXPECT_EQ(a, b) RONDO_EXPECT_(RONDO_COMPARE_(a, ==, b))
#define EXPECT_NE(a, b) RONDO_EXPECT_(RONDO_COMPARE_(a, !=, b))
#define EXPECT_LT(a, b) RONDO_EXPECT_(RONDO_COMPARE_(a, <, b))
#define EXPECT_LE(a, b) RONDO_EXPECT_(RONDO_COMPARE_(a, <=, b))
#define EXPECT_GT(a, b) RONDO_EXPECT_(RONDO_COMPARE_(a, >, b))
#define EXPECT_GE(a, b) RONDO_EXPECT_(RONDO_COMPARE_(a, >=, b))
#define EXPECT_NEAR(a, b, t) RONDO_EXPECT_(RONDO_NEAR_(a, b, t))
#define EXPECT_FLOAT_EQ(a, b) RONDO_EXPECT_(RONDO_REAL_(float, a, b))
#define EXPECT_DOUBLE_EQ(a, b) RONDO_EXPECT_(RONDO_REAL_(double, a, b))
#define EXPECT_STREQ(a, b) RONDO_EXPECT_(RONDO_TEXT_(a, b))
#define EXPECT_TRUE(a) RONDO_EXPECT_(RONDO_TRUTH_(a, true))
#define EXPECT_FALSE(a) RONDO_EXPECT_(RONDO_TRUTH_(a, false))
#define ASSERT_EQ(a, b) RONDO_ASSERT_(RONDO_COMPARE_(a, ==, b))
#define ASSERT_NE(a, b) RONDO_ASSERT_(RONDO_COMPARE_(a, !=, b))
#define ASSERT_LT(a, b) RONDO_ASSERT_(RONDO_COMPARE_(a, <, b))
#define ASSERT_LE(a, b) RONDO_ASSERT_(RONDO_COMPARE_(a, <=, b))
#define ASSERT_GT(a, b) RONDO_ASSERT_(RONDO_COMPARE_(a, >, b))
#define ASSERT_GE(a, b) RONDO_ASSERT_(RONDO_COMPARE_(a, >=, b))
#define ASSERT_NEAR(a, b, t) RONDO_ASSERT_(RONDO_NEAR_(a, b, t))
#define ASSERT_FLOAT_EQ(a, b) RONDO_ASSERT_(RONDO_REAL_(float, a, b))
#define ASSERT_DOUBLE_EQ(a, b) RONDO_ASSERT_(RONDO_REAL_(double, a, b))
#define ASSERT_STREQ(a, b) RONDO_ASSERT_(RONDO_TEXT_(a, b))
#define ASSERT_TRUE(a) RONDO_ASSERT_(RONDO_TRUTH_(a, true))
#define ASSERT_FALSE(a) RONDO_ASSERT_(RONDO_TRUTH_(a, false))

#define RONDO_THROWS_(statement, type)                                         \
  [&]() -> ::testing::internal::Result {                                       \
    try {                                                                      \
      statement;                                                               \
    } catch (const type &) {                                                   \
      return {};                                                               \
    } catch (...) {                                                            \
      return {"expected " #statement " to throw " #type                        \
              ", it threw something else\n"};                                  \
    }                                                                          \
    return {"expected " #statement " to throw " #type "\n"};                   \
  }()
#define RONDO_THROWS_NOTHING_(statement)                                       \
  [&]() -> ::testing::internal::Result {                                       \
    try {                                                                      \
      statement;                                                               \
    } catch (const std::exception &rondoError) {                               \
      return {std::string("expected " #statement " not to throw: ") +          \
              rondoError.what() + "\n"};                                       \
    } catch (...) {                                                            \
      return {"expected " #statement " not to throw\n"};                       \
    }                                                                          \
    return {};                                                                 \
  }()
#define EXPECT_THROW(statement, type)                                          \
  RONDO_EXPECT_(RONDO_THROWS_(statement, type))
#define ASSERT_THROW(statement, type)                                          \
  RONDO_ASSERT_(RONDO_THROWS_(statement, type))
#define EXPECT_NO_THROW(statement)                                             \
  RONDO_EXPECT_(RONDO_THROWS_NOTHING_(statement))
#define ASSERT_NO_THROW(statement)                                             \
  RONDO_ASSERT_(RONDO_THROWS_NOTHING_(statement))
#define ASSERT_NO_FATAL_FAILURE(statement)                                     \
  do {                                                                         \
    statement;                                                                 \
    if (::testing::Test::HasFatalFailure())                                    \
      return;                                                                  \
  } while (false)

#define ADD_FAILURE()                                                          \
  ::testing::internal::Report{__FILE__, __LINE__, "failed\n"} =                \
      ::testing::Message()
#define FAIL()                                                                 \
  return ::testing::internal::Report{__FILE__, __LINE__, "failed\n",           \
                                     ::testing::internal::Outcome::Failed,     \
                                     true} = ::testing::Message()
#define SUCCEED() ::testing::Message()
#define GTEST_SKIP()                                                           \
  return ::testing::internal::Report{__FILE__, __LINE__, "",                   \
                                     ::testing::internal::Outcome::Skipped} =  \
             ::testing::Message()

#define RONDO_JOIN2_(a, b) a##b
#define RONDO_JOIN_(a, b) RONDO_JOIN2_(a, b)
#define SCOPED_TRACE(text)                                                     \
  ::testing::internal::Trace RONDO_JOIN_(rondoTrace, __LINE__)(                \
      ::testing::Message() << text)

#endif // RONDO_TEST_GPU_GTEST_GTEST_H
