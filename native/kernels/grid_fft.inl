// Fourier transforms and convolutions of real grids by lines and columns (see fft.inl).

// Even lines have real transforms, so two lines fit into one complex one: lines (2 W) of half + 1
// entries, out likewise. step: distance of entries, width: distance of lines.
void fft_even_lines(const FftPlan<double>& plan, const double* in, int64_t in_step,
                    int64_t in_width, double* out, int64_t out_step, int64_t out_width, int lines,
                    double* scratch) {
    constexpr int L = W<double>;
    auto* const a = reinterpret_cast<Complex<double>*>(scratch);
    const int size = plan.size, half = size / 2;
    for (int j = 0; j < size; j++) {
        const int at = j <= half ? j : size - j;
        for (int l = 0; l < 2 * L; l++) {
            const double v = l < lines ? in[at * in_step + l * in_width] : 0;
            if (l < L)
                a[j].re[l] = v;
            else
                a[j].im[l - L] = v;
        }
    }
    const Complex<double>* const z = fft(plan, a, second_half(a, size));
    for (int j = 0; j <= half; j++)
        for (int l = 0; l < lines; l++)
            out[j * out_step + l * out_width] = l < L ? z[j].re[l] : z[j].im[l - L];
}

// Columns c .. c + 2 W of a grid of half rows to half a spectrum, two columns in one transform.
void fft_columns(const FftPlan<float>& plan, const float* grid, int64_t stride, float* re,
                 float* im, float* scratch) {
    constexpr int L = W<float>;
    auto* const a = reinterpret_cast<Complex<float>*>(scratch);
    const int size = plan.size, half = size / 2;
    for (int r = 0; r < half; r++) a[r] = {load(grid + r * stride), load(grid + r * stride + L)};
    const Complex<float>* const z = fft<true>(plan, a, second_half(a, size));
    for (int k = 0; k <= half; k++) {
        const Complex<float> u = z[k], v = z[k ? size - k : 0];
        store(re + k * stride, 0.5f * (u.re + v.re));
        store(im + k * stride, 0.5f * (u.im - v.im));
        store(re + k * stride + L, 0.5f * (u.im + v.im));
        store(im + k * stride + L, 0.5f * (v.re - u.re));
    }
}

// W lines of the spectrum: forward along them, times the kernel, and back. Lines must be there to
// a multiple of W columns.
void convolve_lines(const FftPlan<float>& plan, const float* kernel, int64_t pitch, float* re,
                    float* im, int64_t stride, float* scratch) {
    constexpr int L = W<float>;
    auto* const a = reinterpret_cast<Complex<float>*>(scratch);
    const int size = plan.size, half = size / 2;
    Vec<float> square[L];
    for (int part = 0; part < 2; part++) {
        const float* const from = part ? im : re;
        for (int c = 0; c < half; c += L) {
            for (int l = 0; l < L; l++) square[l] = load(from + l * stride + c);
            transpose<float>(square);
            for (int l = 0; l < L && c + l < half; l++)
                (part ? a[c + l].im : a[c + l].re) = square[l];
        }
    }
    Complex<float>* z = fft<true>(plan, a, second_half(a, size));
    for (int k = 0; k < size; k++) {  // with parts exchanged: the next transform is the inverse one
        const Vec<float> w = load(kernel + (k <= half ? k : size - k) * pitch);
        z[k] = {w * z[k].im, w * z[k].re};
    }
    z = fft(plan, z, z == a ? second_half(a, size) : a);
    for (int part = 0; part < 2; part++) {
        float* const to = part ? im : re;
        for (int c = 0; c < half; c += L) {
            for (int l = 0; l < L; l++)
                square[l] = c + l < half ? (part ? z[c + l].re : z[c + l].im) : Vec<float>{};
            transpose<float>(square);
            for (int l = 0; l < L; l++) store(to + l * stride + c, square[l]);
        }
    }
}

void inverse_fft_columns(const FftPlan<float>& plan, const float* re, const float* im,
                         int64_t stride, float* grid, float* scratch) {
    constexpr int L = W<float>;
    auto* const a = reinterpret_cast<Complex<float>*>(scratch);
    const int size = plan.size, half = size / 2;
    for (int k = 0; k <= half; k++) {  // A + iB with its parts exchanged
        const Complex<float> A{load(re + k * stride), load(im + k * stride)};
        const Complex<float> B{load(re + k * stride + L), load(im + k * stride + L)};
        a[k] = {A.im + B.re, A.re - B.im};
        if (k > 0 && k < half) a[size - k] = {B.re - A.im, A.re + B.im};
    }
    const Complex<float>* const z = fft(plan, a, second_half(a, size));
    for (int r = 0; r < half; r++) {
        store(grid + r * stride, z[r].im);
        store(grid + r * stride + L, z[r].re);
    }
}

// W columns of half rows of a complex plane to their whole spectrum.
void fft_plane(const FftPlan<float>& plan, const float* re, const float* im, int64_t stride,
               float* to_re, float* to_im, float* scratch) {
    auto* const a = reinterpret_cast<Complex<float>*>(scratch);
    const int size = plan.size, half = size / 2;
    for (int r = 0; r < half; r++) a[r] = {load(re + r * stride), load(im + r * stride)};
    const Complex<float>* const z = fft<true>(plan, a, second_half(a, size));
    for (int k = 0; k < size; k++) {
        store(to_re + k * stride, z[k].re);
        store(to_im + k * stride, z[k].im);
    }
}
void inverse_fft_plane(const FftPlan<float>& plan, const float* re, const float* im, int64_t stride,
                       float* to_re, float* to_im, float* scratch) {
    auto* const a = reinterpret_cast<Complex<float>*>(scratch);
    const int size = plan.size, half = size / 2;
    for (int k = 0; k < size; k++) a[k] = {load(im + k * stride), load(re + k * stride)};
    const Complex<float>* const z = fft(plan, a, second_half(a, size));
    for (int r = 0; r < half; r++) {
        store(to_re + r * stride, z[r].im);
        store(to_im + r * stride, z[r].re);
    }
}

// A line of half entries times an even kernel, in one lane.
void convolve_line(const FftPlan<float>& plan, const float* kernel, const float* in, float* out,
                   float* scratch) {
    auto* const a = reinterpret_cast<Complex<float>*>(scratch);
    const int size = plan.size, half = size / 2;
    for (int j = 0; j < size; j++) a[j] = {spread(j < half ? in[j] : 0.0f), Vec<float>{}};
    Complex<float>* z = fft(plan, a, second_half(a, size));
    for (int k = 0; k < size; k++) {
        const float w = kernel[k <= half ? k : size - k];
        z[k] = {w * z[k].im, w * z[k].re};
    }
    z = fft(plan, z, z == a ? second_half(a, size) : a);
    for (int j = 0; j < half; j++) out[j] = z[j].im[0];
}
