#include <nanobind/stl/array.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/unique_ptr.h>

#include <algorithm>
#include <mutex>

#include "bind.hpp"
#include "lowd/embed.hpp"

namespace lowd::python {

namespace {

using Starts = Array1<const int64_t>;
using Members = Array1<const int32_t>;

std::span<const int64_t> starts_of(const Starts& starts, int64_t total) {
    const std::span found(view(starts, int64_t(starts.shape(0)), ""), starts.shape(0));
    require(!found.empty() && found.front() == 0 && found.back() == total &&
                std::ranges::is_sorted(found),
            "starts must rise from 0 to the number of entries");
    return found;
}
Lists lists_of(const Starts& starts, const Members& members, int64_t bound) {
    const auto total = int64_t(members.shape(0));
    const Lists found{starts_of(starts, total), {view(members, total, ""), members.shape(0)}};
    require(std::ranges::all_of(found.members, [&](int64_t i) { return 0 <= i && i < bound; }),
            "indices must be numbers of rows");
    return found;
}
Likeness likeness(const std::string& name) {
    require(name == "student" || name == "gauss" || name == "rows", "unknown kernel");
    return name == "student" ? Likeness::student
           : name == "gauss" ? Likeness::gauss
                             : Likeness::rows;
}
Sums sums_of(const std::string& name) {
    require(name == "exact" || name == "single" || name == "mesh", "unknown way to sum");
    return name == "exact" ? Sums::exact : name == "single" ? Sums::single : Sums::mesh;
}
template <class T>
void require_like(const Matrix<T>& a, const Matrix<const double>& Y) {
    require_shape(a, Y.rows, Y.cols, "arrays of places must have one shape");
}

void perplexity_of(const Starts& starts, const Array1<const double>& squares, double target,
                   const Array1<double>& p, const Array1<double>& beta, int threads,
                   nb::object poll) {
    const auto total = int64_t(squares.shape(0));
    const auto begins = starts_of(starts, total);
    const double* const d = view(squares, total, "");
    double* const chances = view(p, total, "there must be one entry per distance");
    double* const betas = view(beta, int64_t(begins.size()) - 1, "one beta per list");
    run(threads, poll, [&](Job& job) { perplexity(begins, d, target, chances, betas, job); });
}

void pair_sums_of(const Array2<const double>& Y, const std::string& kernel,
                  const Array1<const int64_t>& rows, const Array1<double>& z,
                  const Array2<double>& r, int threads, nb::object poll) {
    const auto y = view(Y);
    const auto push = view(r);
    const auto m = int64_t(rows.shape(0));
    const std::span which(view(rows, m, ""), rows.shape(0));
    require(std::ranges::all_of(which, [&](int64_t i) { return 0 <= i && i < y.rows; }),
            "rows must be numbers of rows");
    double* const sums = view(z, m, "one sum per row");
    require_shape(push, m, y.cols, "r must have the columns of Y");
    run(threads, poll,
        [&](Job& job) { pair_sums(y, likeness(kernel), which, sums, push, job); });
}

template <class T>
auto owned(T* data, size_t size, const nb::capsule& owner) {
    return nb::ndarray<nb::numpy, T, nb::ndim<1>>(data, {size}, owner);
}
auto joint_of(const Starts& starts, const Members& indices, const Array1<const double>& p,
              int threads) {
    const Lists A = lists_of(starts, indices, int64_t(starts.shape(0)) - 1);
    const double* const chances = view(p, int64_t(indices.shape(0)), "one chance per index");
    auto* const found = new Joint;
    const nb::capsule owner(found, [](void* at) noexcept { delete static_cast<Joint*>(at); });
    run(threads, nb::none(), [&](Job& job) { *found = joint(A, chances, job); });
    const auto size = size_t(found->starts.back());
    return std::tuple(owned(found->starts.data(), found->starts.size(), owner),
                      owned(found->members.get(), size, owner),
                      owned(found->values.get(), size, owner));
}

double surprise_of(const Starts& starts, const Members& indices, const Array1<const double>& p,
                   const Array2<const double>& Y, const std::string& kernel, int threads,
                   nb::object poll) {
    const auto y = view(Y);
    const Lists P = lists_of(starts, indices, y.rows);
    require(P.count() == y.rows, "a list per point");
    const double* const chances = view(p, int64_t(indices.shape(0)), "one chance per index");
    double sum = 0;
    run(threads, poll,
        [&](Job& job) { sum = surprise(P, chances, y, likeness(kernel), job); });
    return sum;
}

double normalizer_of(const Array2<const double>& Y, int threads, nb::object poll) {
    const auto y = view(Y);
    require(y.cols >= 1 && y.cols <= 3, "one to three dimensions");
    double sum = 0;
    run(threads, poll, [&](Job& job) { sum = normalizer(y, job); });
    return sum;
}

void settle_of(const Starts& starts, const Members& indices, const Array1<const double>& p,
               const Array2<const double>& Y, const std::string& kernel,
               const std::optional<Array1<const float>>& phi, std::array<int64_t, 2> nodes,
               std::array<double, 2> origin, double spacing, bool from_medians,
               const Array2<double>& places, int threads, nb::object poll) {
    const auto y = view(Y);
    const auto to = view(places);
    const Lists near = lists_of(starts, indices, y.rows);
    const double* const chances = view(p, int64_t(indices.shape(0)), "one chance per index");
    require_shape(to, near.count(), y.cols, "places must have a row per list, the columns of Y");
    MeshView mesh;
    if (phi) {
        require(y.cols <= 2 && nodes[0] >= 5 && (y.cols == 1 || nodes[1] >= 5), "too small a mesh");
        const int64_t cells = y.cols == 2 ? nodes[0] * nodes[1] : nodes[0];
        mesh = {int(y.cols), view(*phi, cells, "one entry per node"), {nodes[0], nodes[1]},
                {origin[0], origin[1]}, spacing};
    }
    run(threads, poll,
        [&](Job& job) { settle(near, chances, y, likeness(kernel), mesh, from_medians, to, job); });
}

// One descent; its methods are not called from two threads at once.
struct Forces {
    std::unique_ptr<Descent> descent;
    int64_t n;
    std::mutex mutex;

    template <class F>
    void work(int threads, nb::object poll, F body) {
        run(threads, poll, [&](Job& job) {
            const std::lock_guard held(mutex);
            body(job);
        });
    }
};

}  // namespace

void bind_embed(nb::module_& m) {
    const auto poll = [] { return nb::arg("poll") = nb::none(); };
    m.def("perplexity", &perplexity_of, array("starts"), array("squares"), nb::arg("target"),
          array("p"), array("beta"), nb::arg("threads"), poll());
    m.def("pair_sums", &pair_sums_of, array("Y"), nb::arg("kernel"), array("rows"), array("z"),
          array("r"), nb::arg("threads"), poll());
    m.def("joint", &joint_of, array("starts"), array("indices"), array("p"), nb::arg("threads"));
    m.def("surprise", &surprise_of, array("starts"), array("indices"), array("p"), array("Y"),
          nb::arg("kernel"), nb::arg("threads"), poll());
    m.def("normalizer", &normalizer_of, array("Y"), nb::arg("threads"), poll());
    m.def("settle", &settle_of, array("starts"), array("indices"), array("p"), array("Y"),
          nb::arg("kernel"), array("phi").none(), nb::arg("nodes"), nb::arg("origin"),
          nb::arg("spacing"), nb::arg("from_medians"), array("places"), nb::arg("threads"), poll());
    nb::class_<Forces>(m, "Forces")
        .def(
            "__init__",
            [](Forces* self, const Starts& starts, const Members& indices,
               const Array1<const double>& values, int k, const std::string& kernel,
               const std::string& sums) {
                const int64_t n = int64_t(starts.shape(0)) - 1;
                const Lists P = lists_of(starts, indices, n);
                const double* const p = view(values, int64_t(indices.shape(0)), "one per index");
                require(n >= 1 && k >= 1, "there must be points and dimensions");
                auto made = descent(P, p, k, likeness(kernel), sums_of(sums));
                new (self) Forces{std::move(made), n, {}};
            },
            array("starts"), array("indices"), array("values"), nb::arg("k"), nb::arg("kernel"),
            nb::arg("sums"))
        .def(
            "start",
            [](Forces& self, const Array2<const double>& Y) {
                const auto y = view(Y);
                require_shape(y, self.n, self.descent->dimensions(), "a row per point");
                self.descent->start(y);
            },
            array("Y"))
        .def(
            "advance",
            [](Forces& self, int64_t steps, double exaggeration, double momentum, double rate,
               int threads, nb::object poll) {
                double moved = 0;
                self.work(threads, poll, [&](Job& job) {
                    moved = self.descent->advance(steps, exaggeration, momentum, rate, job);
                });
                return moved;
            },
            nb::arg("steps"), nb::arg("exaggeration"), nb::arg("momentum"), nb::arg("rate"),
            nb::arg("threads"), poll())
        .def(
            "places",
            [](Forces& self, const Array2<double>& out) {
                const auto to = view(out);
                require_shape(to, self.n, self.descent->dimensions(), "a row per point");
                self.descent->places(to);
            },
            array("out"))
        .def(
            "forces",
            [](Forces& self, const Array2<const double>& Y, const Array2<double>& attraction,
               const Array2<double>& repulsion, int threads, nb::object poll) {
                const auto y = view(Y);
                const auto a = view(attraction), r = view(repulsion);
                require_shape(y, self.n, self.descent->dimensions(), "a row per point");
                require_like(a, y);
                require_like(r, y);
                self.work(threads, poll, [&](Job& job) { self.descent->forces(y, a, r, job); });
            },
            array("Y"), array("attraction"), array("repulsion"), nb::arg("threads"), poll())
        .def(
            "mesh",
            [](Forces& self, const Array2<const double>& Y, int threads, nb::object poll) {
                const auto y = view(Y);
                require_shape(y, self.n, self.descent->dimensions(), "a row per point");
                auto* const found = new Mesh;
                const nb::capsule owner(found, [](void* p) noexcept { delete (Mesh*)p; });
                self.work(threads, poll, [&](Job& job) { *found = self.descent->mesh(y, job); });
                nb::ndarray<nb::numpy, float, nb::ndim<1>> phi(found->phi.data(),
                                                               {found->phi.size()}, owner);
                return std::tuple(phi, found->nodes, found->origin, found->spacing);
            },
            array("Y"), nb::arg("threads"), poll());
}

}  // namespace lowd::python
