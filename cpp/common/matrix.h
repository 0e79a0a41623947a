// Matrices that know their shape, and views of parts of them. All are row-major.
#pragma once
#include <algorithm>
#include <cstddef>
#include <type_traits>
#include <utility>
#include <vector>

namespace repshape {

// Counts entries. Rows and columns are counted in int, as BLAS does; the two are multiplied in this file alone.
using Index = std::ptrdiff_t;
using Values = std::vector<double>;

// Part of a matrix that something else owns. View<const T> only reads.
template <class T>
class View {
 public:
  View(T* data, int rows, int columns, int stride) : data_(data), rows_(rows), columns_(columns), stride_(stride) {}
  View(T* data, int rows, int columns) : View(data, rows, columns, columns) {}
  template <class U, class = std::enable_if_t<std::is_same_v<const U, T>>>
  View(const View<U>& from) : View(from.data(), from.rows(), from.columns(), from.stride()) {}

  T* data() const { return data_; }
  int rows() const { return rows_; }
  int columns() const { return columns_; }
  int stride() const { return stride_; }  // entries from a row to the next
  T& operator()(int i, int j) const { return row(i)[j]; }
  T* row(int i) const { return data_ + Index(i) * stride_; }
  View row_block(int first, int count) const { return {row(first), count, columns_, stride_}; }
  View column_block(int first, int count) const { return {data_ + first, rows_, count, stride_}; }

  template <class U>
  void copy_from(const View<U>& from) const {
    for (int i = 0; i < rows_; ++i) std::copy_n(from.row(i), columns_, row(i));
  }

 private:
  T* data_;
  int rows_, columns_, stride_;
};

template <class T>
class MatrixOf {
 public:
  MatrixOf() = default;
  MatrixOf(int rows, int columns, T value = 0)
      : rows_(rows), columns_(columns), values_(Index(rows) * columns, value) {}
  MatrixOf(int rows, int columns, std::vector<T> values) : rows_(rows), columns_(columns), values_(std::move(values)) {}
  // A copy, perhaps in another precision.
  template <class U>
  explicit MatrixOf(const View<U>& from) : rows_(from.rows()), columns_(from.columns()) {
    values_.reserve(Index(rows_) * columns_);
    for (int i = 0; i < rows_; ++i) values_.insert(values_.end(), from.row(i), from.row(i) + columns_);
  }
  template <class U>
  explicit MatrixOf(const MatrixOf<U>& from)
      : rows_(from.rows()), columns_(from.columns()), values_(from.begin(), from.end()) {}

  int rows() const { return rows_; }
  int columns() const { return columns_; }
  Index size() const { return Index(values_.size()); }
  bool empty() const { return values_.empty(); }
  T* data() { return values_.data(); }
  const T* data() const { return values_.data(); }

  T& operator()(int i, int j) { return row(i)[j]; }
  T operator()(int i, int j) const { return row(i)[j]; }
  T* row(int i) { return data() + Index(i) * columns_; }
  const T* row(int i) const { return data() + Index(i) * columns_; }
  // Entries in order of memory, for what does not depend on the shape.
  T& operator[](Index e) { return values_[e]; }
  T operator[](Index e) const { return values_[e]; }
  auto begin() { return values_.begin(); }
  auto end() { return values_.end(); }
  auto begin() const { return values_.begin(); }
  auto end() const { return values_.end(); }
  bool operator==(const MatrixOf& other) const { return values_ == other.values_; }

  View<T> view() { return {data(), rows_, columns_}; }
  View<const T> view() const { return {data(), rows_, columns_}; }
  operator View<T>() { return view(); }
  operator View<const T>() const { return view(); }
  View<T> row_block(int first, int count) { return view().row_block(first, count); }
  View<const T> row_block(int first, int count) const { return view().row_block(first, count); }
  View<T> column_block(int first, int count) { return view().column_block(first, count); }
  View<const T> column_block(int first, int count) const { return view().column_block(first, count); }
  // The same entries as a matrix of another shape.
  View<T> reshaped(int rows, int columns) { return {data(), rows, columns}; }
  View<const T> reshaped(int rows, int columns) const { return {data(), rows, columns}; }

  // Zeros (or `value`) in every entry.
  void reset(int rows, int columns, T value = 0) {
    rows_ = rows, columns_ = columns;
    values_.assign(Index(rows) * columns, value);
  }
  // Changes the number of rows; new ones are zero.
  void set_rows(int rows) {
    rows_ = rows;
    values_.resize(Index(rows) * columns_, 0);
  }
  void append_row(const T* row) {
    ++rows_;
    values_.insert(values_.end(), row, row + columns_);
  }
  void clear() {
    rows_ = columns_ = 0;
    values_.clear();
  }
  void transpose_in_place() {  // of a square matrix
    for (int i = 0; i < rows_; ++i)
      for (int j = 0; j < i; ++j) std::swap((*this)(i, j), (*this)(j, i));
  }
  void add_to_diagonal(T value) {
    for (int i = 0; i < rows_ && i < columns_; ++i) (*this)(i, i) += value;
  }
  // this += factor x
  void add(T factor, const MatrixOf& x) {
    for (Index e = 0; e < size(); ++e) values_[e] += factor * x.values_[e];
  }
  void scale(T factor) {
    for (T& value : values_) value *= factor;
  }

 private:
  int rows_ = 0, columns_ = 0;
  std::vector<T> values_;
};

using Matrix = MatrixOf<double>;
using FloatMatrix = MatrixOf<float>;

inline Matrix identity(int n) {
  Matrix out(n, n);
  out.add_to_diagonal(1);
  return out;
}

// The transposed matrix, perhaps in another precision.
template <class T, class U>
MatrixOf<T> transposed_as(const View<U>& a) {
  MatrixOf<T> out(a.columns(), a.rows());
  for (int i = 0; i < a.rows(); ++i)
    for (int j = 0; j < a.columns(); ++j) out(j, i) = T(a(i, j));
  return out;
}
inline Matrix transposed(const View<const double>& a) { return transposed_as<double>(a); }

// The first k columns.
inline Matrix first_columns(const Matrix& a, int k) { return Matrix(a.column_block(0, k)); }

}  // namespace repshape
