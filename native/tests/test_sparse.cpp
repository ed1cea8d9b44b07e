#include "linear/linear.hpp"

#include "check.hpp"

using namespace lowd;
using namespace lowd::test;

template <class I>
static void check_sparse_matmul() {
    for (int64_t n : {1, 50, 1500})
        for (int64_t width : {1, 2, 3, 5, 7, 8, 9, 16, 20, 31}) {
            std::vector<I> indptr{0}, columns;
            std::vector<double> values;
            for (int64_t i = 0; i < n; i++) {
                for (int64_t e = 0; e < i % 9; e++)
                    columns.push_back(I((i * 31 + e * 17) % n)),
                        values.push_back(0.5 * double(e) - 1);
                indptr.push_back(I(columns.size()));
            }
            const auto full = Data<double>::random(n, width),
                       extra = Data<double>::random(n, width, 1);
            std::vector<double> V, U;
            for (int64_t i = 0; i < n; i++)
                for (int64_t j = 0; j < width; j++)
                    V.push_back(full(i, j)), U.push_back(extra(i, j));
            for (bool with : {false, true}) {
                const double b = with ? 0.5 : 0, c = -1.5;
                const auto found = on_any_threads([&](Job& job) {
                    Data<double> out(n, width, 0);
                    sparse_matmul(n, indptr.data(), columns.data(), values.data(),
                                  Matrix<const double>{V.data(), n, width, width}, 2.0, b,
                                  with ? U.data() : nullptr, c, out.memory.data(), job);
                    return out;
                });
                CHECK(near(found, 1e-14, [&](int64_t i, int64_t j) {
                    double sum = 0;
                    for (I e = indptr[size_t(i)]; e < indptr[size_t(i) + 1]; e++)
                        sum += values[size_t(e)] * full(columns[size_t(e)], j);
                    return 2 * sum + (with ? b * full(i, j) + c * extra(i, j) : 0);
                }));
            }
        }
}
TEST(sparse_matmul_matches) {
    check_sparse_matmul<int32_t>();
    check_sparse_matmul<int64_t>();
}
