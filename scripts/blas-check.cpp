//===- blas-check.cpp - Compare a BLAS with plain loops -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Status 0 if sgemm and dgemm agree with plain loops for matrices of many
// sizes, transposed or not, also when 32 threads call them at once. Prints the
// core whose kernels OpenBLAS has chosen.
//
//===----------------------------------------------------------------------===//

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <random>
#include <thread>
#include <vector>

extern "C" {
void cblas_sgemm(int order, int transA, int transB, int m, int n, int k,
                 float alpha, const float *a, int lda, const float *b, int ldb,
                 float beta, float *c, int ldc);
void cblas_dgemm(int order, int transA, int transB, int m, int n, int k,
                 double alpha, const double *a, int lda, const double *b,
                 int ldb, double beta, double *c, int ldc);
void openblas_set_num_threads(int threads);
char *openblas_get_corename(void);
}

static constexpr int rowMajor = 101, plain = 111, transposed = 112;

/// Largest absolute error of one product of entries between -0.5 and 0.5.
template <typename Number, typename Gemm>
static double errorOf(Gemm gemm, int m, int n, int k, bool isATransposed,
                      bool isBTransposed) {
  std::mt19937 random(m + 1000 * n + k);
  std::uniform_real_distribution<Number> entry(Number(-0.5), Number(0.5));
  std::vector<Number> a(size_t(m) * k), b(size_t(k) * n), c(size_t(m) * n, 1);
  for (Number &x : a)
    x = entry(random);
  for (Number &x : b)
    x = entry(random);
  const Number alpha = Number(1.5), beta = Number(0.5);
  gemm(rowMajor, isATransposed ? transposed : plain,
       isBTransposed ? transposed : plain, m, n, k, alpha, a.data(),
       isATransposed ? m : k, b.data(), isBTransposed ? k : n, beta, c.data(),
       n);
  double worst = 0;
  for (int i = 0; i < m; ++i)
    for (int j = 0; j < n; ++j) {
      double sum = 0;
      for (int l = 0; l < k; ++l)
        sum += double(a[isATransposed ? l * m + i : i * k + l]) *
               double(b[isBTransposed ? j * k + l : l * n + j]);
      worst = std::max(worst, std::fabs(alpha * sum + beta - c[i * n + j]));
    }
  return worst;
}

int main() {
  openblas_set_num_threads(1);
  double single = 0, whole = 0;
  const int sizes[] = {1, 2, 3, 7, 8, 16, 31, 33, 64, 100, 257};
  for (int m : sizes)
    for (int n : sizes)
      for (int k : {1, 5, 16, 64, 130})
        for (int kind = 0; kind < 4; ++kind) {
          const bool a = kind & 1, b = kind & 2;
          single = std::max(single, errorOf<float>(cblas_sgemm, m, n, k, a, b));
          whole = std::max(whole, errorOf<double>(cblas_dgemm, m, n, k, a, b));
        }
  std::vector<double> errors(32);
  std::vector<std::thread> threads;
  for (double &error : errors)
    threads.emplace_back([&error] {
      error = errorOf<float>(cblas_sgemm, 128, 128, 128, false, false);
    });
  for (std::thread &thread : threads)
    thread.join();
  single = std::max(single, *std::max_element(errors.begin(), errors.end()));
  std::printf("%s: largest error of sgemm %g, of dgemm %g\n",
              openblas_get_corename(), single, whole);
  return single < 1e-4 && whole < 1e-12 ? 0 : 1;
}
