#include "check.hpp"

using namespace lowd;
using namespace lowd::test;

TEST(find_nonfinite_finds_the_first) {
    both_types([](auto zero) {
        using T = decltype(zero);
        for (auto [n, d] : {std::pair{1, 1}, {7, 31}, {100, 33}, {3000, 100}}) {
            auto X = Data<T>::random(n, d);
            for (int threads : {1, 2, 5}) {
                Job job(threads);
                CHECK(find_nonfinite(X.in(), job).row == -1);
            }
            X(n - 1, d - 1) = std::numeric_limits<T>::quiet_NaN();
            X(n / 2, d / 3) = -std::numeric_limits<T>::infinity();
            for (int threads : {1, 2, 5}) {
                Job job(threads);
                const Position at = find_nonfinite(X.in(), job);
                const bool last = n == 1;
                CHECK(at.row == (last ? 0 : n / 2) && at.col == (last ? 0 : d / 3));
            }
            X(0, 0) = std::numeric_limits<T>::max();  // large, but finite: still the other entry
            Job job(2);
            if (n > 1) CHECK(find_nonfinite(X.in(), job).row == n / 2);
        }
    });
    Job job(2);
    CHECK(find_nonfinite(Data<float>(0, 5).in(), job).row == -1);
}

TEST(symmetry_finds_all_extremes) {
    both_types([](auto zero) {
        using T = decltype(zero);
        for (int n : {1, 7, 31, 33, 100, 300}) {
            auto A = Data<T>::random(n, n);
            for (int i = 0; i < n; i++)
                for (int j = 0; j < i; j++) A(i, j) = A(j, i);
            Job job(2);
            CHECK(symmetry(A.in(), job).asymmetry == 0);
            A(n / 2, n / 3) += n > 1 ? T(0.5) : T(0);
            A(n - 1, n / 4) = A(n / 4, n - 1) = -9;
            A(n / 2, n / 2) = n > 2 ? T(8) : A(n / 2, n / 2);
            double gap = 0, largest = 0, smallest = 0, diagonal = 0;
            for (int i = 0; i < n; i++)
                for (int j = 0; j < n; j++) {
                    gap = std::fmax(gap, std::abs(double(A(i, j) - A(j, i))));
                    largest = std::fmax(largest, std::abs(double(A(i, j))));
                    smallest = std::fmin(smallest, double(A(i, j)));
                    if (i == j) diagonal = std::fmax(diagonal, std::abs(double(A(i, j))));
                }
            for (int threads : {1, 2, 5}) {
                Job job(threads);
                const Symmetry s = symmetry(A.in(), job);
                CHECK(s.asymmetry == gap && s.largest == largest && s.smallest == smallest &&
                      s.diagonal == diagonal);
                CHECK(std::abs(double(A(s.asymmetry_at.row, s.asymmetry_at.col) -
                                      A(s.asymmetry_at.col, s.asymmetry_at.row))) == gap);
                CHECK(double(A(s.smallest_at.row, s.smallest_at.col)) == smallest);
                CHECK(std::abs(double(A(s.diagonal_at, s.diagonal_at))) == diagonal &&
                      s.nonfinite_at.row == -1);
            }
            A(n / 3, n - 1) = std::numeric_limits<T>::quiet_NaN();
            const Symmetry s = symmetry(A.in(), job);
            CHECK(s.nonfinite_at.row == n / 3 && s.nonfinite_at.col == n - 1);
        }
    });
}
