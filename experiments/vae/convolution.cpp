// Convolutions of 4 x 4 pixels with stride 2 and padding 1, their transposes, and the gradients of their weights.
//
// All arrays are float, dense and channels-last: fine maps (images, 2 h, 2 w, c), coarse maps (images, h, w, f),
// kernels (4, 4, c, f), or (f, 4, 4, c) for `spread`. The filters f are a multiple of 16, and w is a multiple of 4.
// One row of a kernel meets 4 c neighbouring numbers of a fine map, so every sum runs along the memory.

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <vector>

namespace {

using Index = std::ptrdiff_t;
typedef float Lane __attribute__((vector_size(32), aligned(4), may_alias));
constexpr Index lane = 8, filters_at_once = 16, pixels_at_once = 4;

inline Lane load(const float* from) { return *reinterpret_cast<const Lane*>(from); }
inline void store(float* to, Lane value) { *reinterpret_cast<Lane*>(to) = value; }

// A fine map of one image with a border of one pixel.
struct Padded {
    Index height, width, channels;
    std::vector<float> values;
    Padded(Index h, Index w, Index c)
        : height(2 * h), width(2 * w), channels(c), values((2 * h + 2) * (2 * w + 2) * c, 0.0f) {}
    Index stride() const { return (width + 2) * channels; }
    float* at(Index row, Index column) { return &values[row * stride() + column * channels]; }
    void read(const float* image) {
        for (Index row = 0; row < height; ++row)
            std::copy_n(image + row * width * channels, width * channels, at(row + 1, 1));
    }
    void write(float* image) {
        for (Index row = 0; row < height; ++row)
            std::copy_n(at(row + 1, 1), width * channels, image + row * width * channels);
    }
};

// Products of one pixel's filters with `lanes` lanes of a kernel (f, 16 c), from the offset of the kernel on.
template <Index lanes>
void spread_part(const float* pixel, const float* kernel, Index filters, Index size, float* patch) {
    Lane sums[lanes] = {};
    for (Index f = 0; f < filters; ++f, kernel += size)
        for (Index i = 0; i < lanes; ++i) sums[i] += pixel[f] * load(kernel + i * lane);
    for (Index i = 0; i < lanes; ++i) store(patch + i * lane, sums[i]);
}

}  // namespace

extern "C" {

// coarse = convolution of fine, plus a bias for each filter.
void gather(const float* fine, const float* kernel, const float* bias, float* coarse, Index images, Index h, Index w,
            Index c, Index f) {
    Padded map(h, w, c);
    for (Index image = 0; image < images; ++image, fine += 4 * h * w * c, coarse += h * w * f) {
        map.read(fine);
        for (Index row = 0; row < h; ++row)
            for (Index column = 0; column < w; column += pixels_at_once)
                for (Index first = 0; first < f; first += filters_at_once) {
                    Lane sums[pixels_at_once][2];
                    for (auto& pair : sums) pair[0] = load(bias + first), pair[1] = load(bias + first + lane);
                    for (Index k = 0; k < 4; ++k) {
                        const float* from = map.at(2 * row + k, 2 * column);
                        const float* weights = kernel + k * 4 * c * f + first;
                        for (Index j = 0; j < 4 * c; ++j, weights += f) {
                            const Lane low = load(weights), high = load(weights + lane);
                            for (Index p = 0; p < pixels_at_once; ++p) {
                                const float value = from[2 * p * c + j];
                                sums[p][0] += value * low;
                                sums[p][1] += value * high;
                            }
                        }
                    }
                    for (Index p = 0; p < pixels_at_once; ++p) {
                        float* to = coarse + (row * w + column + p) * f + first;
                        store(to, sums[p][0]), store(to + lane, sums[p][1]);
                    }
                }
    }
}

// fine = transposed convolution of coarse, plus a bias for each channel.
void spread(const float* coarse, const float* kernel, const float* bias, float* fine, Index images, Index h, Index w,
            Index c, Index f) {
    Padded map(h, w, c);
    const Index size = 16 * c;
    std::vector<float> patch(size);
    for (Index image = 0; image < images; ++image, fine += 4 * h * w * c) {
        for (Index pixel = 0; pixel < (2 * h + 2) * (2 * w + 2); ++pixel)
            std::copy_n(bias, c, &map.values[pixel * c]);
        for (Index row = 0; row < h; ++row)
            for (Index column = 0; column < w; ++column, coarse += f) {
                Index done = 0;
                for (; done + 8 * lane <= size; done += 8 * lane)
                    spread_part<8>(coarse, kernel + done, f, size, &patch[done]);
                for (; done + 6 * lane <= size; done += 6 * lane)
                    spread_part<6>(coarse, kernel + done, f, size, &patch[done]);
                for (; done < size; done += 2 * lane) spread_part<2>(coarse, kernel + done, f, size, &patch[done]);
                for (Index k = 0; k < 4; ++k) {
                    float* to = map.at(2 * row + k, 2 * column);
                    for (Index j = 0; j < 4 * c; ++j) to[j] += patch[k * 4 * c + j];
                }
            }
        map.write(fine);
    }
}

// kernel (4, 4, c, f) = sum over pixels of fine patches times coarse filters.
void correlate(const float* fine, const float* coarse, float* kernel, Index images, Index h, Index w, Index c,
               Index f) {
    Padded map(h, w, c);
    constexpr Index taps = 4;  // 4 c is a multiple of it
    std::fill_n(kernel, 16 * c * f, 0.0f);
    for (Index image = 0; image < images; ++image, fine += 4 * h * w * c, coarse += h * w * f) {
        map.read(fine);
        for (Index k = 0; k < 4; ++k)
            for (Index j = 0; j < 4 * c; j += taps)
                for (Index first = 0; first < f; first += filters_at_once) {
                    float* to = kernel + (k * 4 * c + j) * f + first;
                    Lane sums[taps][2];
                    for (Index t = 0; t < taps; ++t)
                        sums[t][0] = load(to + t * f), sums[t][1] = load(to + t * f + lane);
                    for (Index row = 0; row < h; ++row) {
                        const float* from = map.at(2 * row + k, 0) + j;
                        const float* with = coarse + row * w * f + first;
                        for (Index column = 0; column < w; ++column, from += 2 * c, with += f) {
                            const Lane low = load(with), high = load(with + lane);
                            for (Index t = 0; t < taps; ++t) {
                                sums[t][0] += from[t] * low;
                                sums[t][1] += from[t] * high;
                            }
                        }
                    }
                    for (Index t = 0; t < taps; ++t)
                        store(to + t * f, sums[t][0]), store(to + t * f + lane, sums[t][1]);
                }
    }
}

}  // extern "C"
