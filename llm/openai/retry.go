package openai

import (
	"context"
	"net/http"
	"strconv"
	"strings"
	"time"

	"nod/llm"
)

const (
	retries     = 3 // of a request before its answer begins
	restarts    = 2 // of a completion that broke in the middle
	firstWait   = 500 * time.Millisecond
	longestWait = 8 * time.Second
	briefly     = 10 * time.Second // a model is tried that another one stands in for
	patience    = time.Minute      // no server's Retry-After is waited out for longer
)

// waits waits before another try, and says whether there is one. n counts those of its kind,
// of which there are at most so many.
func (m *Model) waits(ctx context.Context, f *failure, n *int, most int, out *sink) bool {
	wait := backoff(*n, m.o.Jitter)
	if asked := f.public.RetryAfter; asked > 0 {
		wait = asked + time.Duration(m.o.Jitter()*float64(firstWait))
	}
	then := m.o.Now().Add(wait)
	until, ends := ctx.Deadline()
	switch {
	case *n == most, ends && then.After(until), wait > patience+firstWait,
		m.o.Spared && (out.repeated || then.Sub(out.began) > briefly):
		return false
	}
	*n++
	out.repeated = true
	why := f.public.Fault
	if f.public.Status == http.StatusServiceUnavailable && f.public.RetryAfter > 0 {
		why = llm.Overloaded // it is there, and has too much to do
	}
	m.o.Logger.WarnContext(ctx, "model request is repeated", "fault", string(why), "status", f.public.Status, "wait", wait, "attempt", *n)
	out.pause(why, wait)
	if m.o.Sleep(ctx, wait) == nil { // the next try says what has ended the call
		out.pause("", 0)
	}
	return true
}

// backoff doubles from firstWait to longestWait; up to half of it is jitter.
func backoff(n int, jitter func() float64) time.Duration {
	d := min(firstWait<<min(n, 10), longestWait)
	return d/2 + time.Duration(jitter()*float64(d/2))
}

// early says whether a refusal is worth another try: 429, 5xx, 408. It comes before the
// first byte of an answer, so that nobody has seen anything yet.
func early(e llm.Error) bool {
	return e.Status != http.StatusNotImplemented && (e.Fault == llm.Overloaded || e.Fault == llm.Unreachable || e.Fault == llm.Timeout)
}

// retryAfter reads the pause that a server asks for: retry-after-ms, or Retry-After in
// seconds or as a date (RFC 9110, 10.2.3); 0: none.
func retryAfter(h http.Header, now time.Time) time.Duration {
	number := func(s string) (float64, bool) {
		f, err := strconv.ParseFloat(strings.TrimSpace(s), 64)
		return f, err == nil && f > 0 && f < 1e9
	}
	if ms, ok := number(h.Get("Retry-After-Ms")); ok {
		return time.Duration(ms * float64(time.Millisecond))
	}
	v := h.Get("Retry-After")
	if s, ok := number(v); ok {
		return time.Duration(s * float64(time.Second))
	}
	if at, err := http.ParseTime(v); err == nil {
		return max(0, at.Sub(now))
	}
	return 0
}
