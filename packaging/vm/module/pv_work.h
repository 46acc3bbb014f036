/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A module whose profile is known. Writing "NAME MILLISECONDS" to its parameter "run" spends that long in a function:
 *
 *   hot, warm   two functions of C; all of hot's work is step's, which is compiled into it
 *   gap         code behind a function, inside its section, that no symbol covers: kallsyms gives it that function's name
 */
#include <linux/kernel.h>
#include <linux/ktime.h>
#include <linux/module.h>
#include <linux/moduleparam.h>
#include <linux/sched.h>
#include <linux/string.h>

#define PV_NAME2(name, tail) name##_##tail
#define PV_NAME(name, tail) PV_NAME2(name, tail)
#define PV(tail) PV_NAME(PV_MODULE, tail)
#define PV_TEXT2(name) #name
#define PV_TEXT(name) PV_TEXT2(name)

void PV(gap)(unsigned long turns);
noinline unsigned long PV(hot)(unsigned long turns);
noinline unsigned long PV(warm)(unsigned long turns);

static __always_inline unsigned long PV(step)(unsigned long sum, unsigned long turns)
{
	while (turns--) {
		sum = sum * 31 + turns;
		barrier();
	}
	return sum;
}

noinline unsigned long PV(hot)(unsigned long turns)
{
	return PV(step)(0, turns);
}

noinline unsigned long PV(warm)(unsigned long turns)
{
	unsigned long sum = 1;

	while (turns--) {
		sum ^= sum * 17 + turns;
		barrier();
	}
	return sum;
}

/* The symbol ends behind its jump; the loop lies behind it. */
asm(".pushsection .text\n"
    ".globl " PV_TEXT(PV(gap)) "\n"
    ".type " PV_TEXT(PV(gap)) ", @function\n"
    PV_TEXT(PV(gap)) ":\n"
    "	jmp .Lpv_gap_loop\n"
    ".size " PV_TEXT(PV(gap)) ", . - " PV_TEXT(PV(gap)) "\n"
    "	.fill 32, 1, 0xcc\n"
    ".Lpv_gap_loop:\n"
    "	dec %rdi\n"
    "	jnz .Lpv_gap_loop\n"
    "	jmp __x86_return_thunk\n"
    ".popsection\n");

static int PV(run)(const char *text, const struct kernel_param *kp)
{
	char name[16];
	unsigned int ms;
	ktime_t end;

	if (sscanf(text, "%15s %u", name, &ms) != 2 || ms > 60000)
		return -EINVAL;
	end = ktime_add_ms(ktime_get(), ms);
	while (ktime_before(ktime_get(), end)) {
		if (!strcmp(name, "hot"))
			(void)PV(hot)(100000);
		else if (!strcmp(name, "warm"))
			(void)PV(warm)(100000);
		else if (!strcmp(name, "gap"))
			PV(gap)(100000);
		else
			return -EINVAL;
		cond_resched();
	}
	return 0;
}

static const struct kernel_param_ops PV(run_ops) = { .set = PV(run) };
module_param_cb(run, &PV(run_ops), NULL, 0200);
MODULE_DESCRIPTION("perfvigil test work");
MODULE_LICENSE("GPL");
