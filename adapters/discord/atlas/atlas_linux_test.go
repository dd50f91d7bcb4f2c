package atlas

import (
	"runtime"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"nod/adapters/discord/api"
)

// onProcessor is how long this thread has run.
func onProcessor(b *testing.B) time.Duration {
	var at unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &at); err != nil {
		b.Fatal(err)
	}
	return time.Duration(at.Nano())
}

// BenchmarkAtlasHold is for how long one of 10,000 guilds that are told of holds up
// all other events at most, and what looking through all channels takes, in time of
// the processor: whatever else runs on the machine counts for nothing.
func BenchmarkAtlasHold(b *testing.B) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	for b.Loop() {
		at := New(func() api.User { return api.User{ID: "1"} }, nil, nil, 0)
		var longest time.Duration
		for n := range 10_000 {
			g := large(n)
			began := onProcessor(b)
			at.PutGuild(g)
			longest = max(longest, onProcessor(b)-began)
		}
		began := onProcessor(b)
		at.Busy("1", 2000)
		b.ReportMetric(float64((onProcessor(b) - began).Milliseconds()), "busy-ms")
		b.ReportMetric(float64(longest.Microseconds())/1000, "hold-ms")
	}
}
