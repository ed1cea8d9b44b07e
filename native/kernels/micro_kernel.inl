// The micro-kernel of all wide products: MR rows by NV vectors of sums, held in registers while k
// runs. 8 x 32 float32 on AVX-512: 16 multiply-adds for 10 loads.

constexpr int MR = MANY_REGISTERS ? 8 : 4, NV = 2;

struct Product {
    template <class V>
    static void step(V& sum, const V& a, const V& b) {
        sum += a * b;
    }
};
// a[i A + k K] against b[k PANEL + lanes].
template <class Step, int N, int A, int K, class T, int M>
inline INLINE void micro(const T* a, const T* b, int64_t count, Vec<T> (&sum)[M][N],
                         const Step& op = {}) {
    for (int64_t k = 0; k < count; k++, a += K, b += PANEL<T>) {
        Vec<T> lanes[N];
#pragma GCC unroll 2
        for (int v = 0; v < N; v++) lanes[v] = load(b + v * W<T>);
#pragma GCC unroll 8
        for (int i = 0; i < M; i++) {
            const Vec<T> entry = spread(a[i * A]);
#pragma GCC unroll 2
            for (int v = 0; v < N; v++) op.step(sum[i][v], entry, lanes[v]);
        }
    }
}

constexpr int SUM_ROWS = 256;  // products summed in T before they are added to float64
