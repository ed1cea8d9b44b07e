// One step of UMAP's descent: momentum, and a longest step.

constexpr float MAX_LAYOUT_STEP = 4;
template <class V>
inline INLINE V layout_velocity(V velocity, V force, float momentum, float rate) {
    constexpr float MAX_VELOCITY = 1e15f;  // its square is finite
    const V v = momentum * velocity + rate * force;
    return larger(smaller(v, MAX_VELOCITY - V{}), -MAX_VELOCITY - V{});
}
template <int WIDTH>
double momentum_step_in(int64_t count, float momentum, float rate, const float* force, float* y,
                        float* velocity) {
    constexpr float LONGEST = MAX_LAYOUT_STEP * MAX_LAYOUT_STEP;
    Wide moved = {};
    for (int64_t i = 0; i < count; i += W<float>) {
        const int64_t left = count - i;
        Vec<float> v = layout_velocity(load_part(velocity + i, left), load_part(force + i, left),
                                       momentum, rate);
        // A short step is multiplied by 4 / 4.
        v *=
            MAX_LAYOUT_STEP / roots_of<float>(larger(squares_of<WIDTH, float>(v), spread(LONGEST)));
        store_part(velocity + i, v, left);
        store_part(y + i, load_part(y + i, left) + v, left);
        v *= v;  // 0 beyond the last point
        moved += widen<0>(v) + widen<1>(v);
    }
    return total_of<double>(moved);
}
// Returns the sum of the squares of the steps.
double momentum_step(int64_t points, int width, float momentum, float rate, const float* force,
                     float* y, float* velocity) {
    if (width == 1) return momentum_step_in<1>(points, momentum, rate, force, y, velocity);
    if (width == 2) return momentum_step_in<2>(2 * points, momentum, rate, force, y, velocity);
    if (width == 4) return momentum_step_in<4>(4 * points, momentum, rate, force, y, velocity);
    double moved = 0;
    for (int64_t i = 0; i < points; i++, force += width, y += width, velocity += width) {
        double s = 0;
        for (int c = 0; c < width; c++) {
            velocity[c] = layout_velocity(velocity[c], force[c], momentum, rate);
            s += double(velocity[c]) * double(velocity[c]);
        }
        const double shrink =
            s > double(MAX_LAYOUT_STEP * MAX_LAYOUT_STEP) ? MAX_LAYOUT_STEP / __builtin_sqrt(s) : 1;
        for (int c = 0; c < width; c++) y[c] += velocity[c] *= float(shrink);
        moved += s * shrink * shrink;
    }
    return moved;
}
