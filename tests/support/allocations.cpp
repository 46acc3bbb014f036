// SPDX-License-Identifier: GPL-2.0-or-later
#include "tests/support/allocations.hpp"

#include <cstdlib>
#include <new>

namespace {

thread_local std::size_t g_allocations = 0;

void* counted(std::size_t size) {
    ++g_allocations;
    void* const memory = std::malloc(size == 0 ? 1 : size);
    if (memory == nullptr) throw std::bad_alloc();
    return memory;
}

void* counted_aligned(std::size_t size, std::align_val_t alignment) {
    ++g_allocations;
    const auto step = static_cast<std::size_t>(alignment);
    void* const memory = std::aligned_alloc(step, (size + step - 1) / step * step);
    if (memory == nullptr) throw std::bad_alloc();
    return memory;
}

}  // namespace

// The nothrow and array forms of the library call these.
void* operator new(std::size_t size) { return counted(size); }
void* operator new(std::size_t size, std::align_val_t alignment) { return counted_aligned(size, alignment); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }

namespace perfvigil::test {

std::size_t allocation_count() { return g_allocations; }

}  // namespace perfvigil::test
