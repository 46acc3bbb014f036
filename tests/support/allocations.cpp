// SPDX-License-Identifier: GPL-2.0-or-later
#include "tests/support/allocations.hpp"

#include <cstdlib>
#include <new>

namespace {

thread_local std::size_t g_allocations = 0;

void* counted(std::size_t size) noexcept {
    ++g_allocations;
    return std::malloc(size == 0 ? 1 : size);
}

void* counted(std::size_t size, std::align_val_t alignment) noexcept {
    ++g_allocations;
    const auto step = static_cast<std::size_t>(alignment);
    return std::aligned_alloc(step, (size + step - 1) / step * step);
}

void* checked(void* memory) {
    if (memory == nullptr) throw std::bad_alloc();
    return memory;
}

}  // namespace

// Every form, not only those that the library's other forms call: sanitizers bring their own of each, and new of theirs
// with delete of ours is a mismatch.
using std::align_val_t;
using std::nothrow_t;
using std::size_t;
void* operator new(size_t size) { return checked(counted(size)); }
void* operator new[](size_t size) { return checked(counted(size)); }
void* operator new(size_t size, const nothrow_t&) noexcept { return counted(size); }
void* operator new[](size_t size, const nothrow_t&) noexcept { return counted(size); }
void* operator new(size_t size, align_val_t alignment) { return checked(counted(size, alignment)); }
void* operator new[](size_t size, align_val_t alignment) { return checked(counted(size, alignment)); }
void* operator new(size_t size, align_val_t alignment, const nothrow_t&) noexcept { return counted(size, alignment); }
void* operator new[](size_t size, align_val_t alignment, const nothrow_t&) noexcept { return counted(size, alignment); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, size_t) noexcept { std::free(memory); }
void operator delete(void* memory, const nothrow_t&) noexcept { std::free(memory); }
void operator delete[](void* memory, const nothrow_t&) noexcept { std::free(memory); }
void operator delete(void* memory, align_val_t) noexcept { std::free(memory); }
void operator delete[](void* memory, align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, size_t, align_val_t) noexcept { std::free(memory); }
void operator delete[](void* memory, size_t, align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, align_val_t, const nothrow_t&) noexcept { std::free(memory); }
void operator delete[](void* memory, align_val_t, const nothrow_t&) noexcept { std::free(memory); }

namespace perfvigil::test {

std::size_t allocation_count() { return g_allocations; }

}  // namespace perfvigil::test
