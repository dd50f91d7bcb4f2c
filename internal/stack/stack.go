// Package stack gives a goroutine that is going to call deeply its room at once.
//
// A goroutine begins with some 2 KB of stack. Each time that this is not enough
// the runtime takes one of twice the size, copies what is there and mends every
// pointer into it, and does so the more slowly the deeper the calls are. What
// speaks HTTP or writes to a store goes through that three or four times, and
// where each of a turn's works has a goroutine of its own, which is soon over, that
// is a twentieth of the turn's processor time. Asked for while nothing is on the
// stack yet, the same room costs one small copy.
//
// Nothing depends on it but speed: a runtime that does this in another way grows the
// stack as ever, or gives what is not used back.
package stack

// room is what a work needs, more or less. The runtime makes it a stack of 16 KB, the
// largest of those that it keeps at hand for each processor.
const room = 12 << 10

// Grow has the stack of the goroutine that calls it be large from here on. It is for
// the first line of one.
func Grow() { grow(0) }

// grow is entered only with a stack that has room for its frame, which is why there is
// no need to ever fill it.
//
//go:noinline
func grow(never int) {
	if never == 0 {
		return
	}
	var b [room]byte
	fill(b[:], never)
}

//go:noinline
func fill(b []byte, n int) { b[n] = 1 }
