package openai

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"nod/llm"
)

const (
	retries     = 3
	firstWait   = 500 * time.Millisecond
	longestWait = 8 * time.Second
	patience    = time.Minute // no server's Retry-After is waited out for longer
	errorCap    = 1 << 20     // bytes of an error's body
)

// retry tries a request again when it was refused for the moment: 429, 5xx,
// 408, no connection. All of that happens before the first byte of an answer,
// so that nobody has seen anything yet. The last response, or error, is
// returned as it is.
type retry struct {
	Options
	out *sink // is told of pauses, and says whether there may be another try
}

// RoundTrip implements http.RoundTripper.
func (r *retry) RoundTrip(req *http.Request) (*http.Response, error) {
	for n := 0; ; n++ {
		resp, err := r.HTTP.RoundTrip(req)
		if n == retries || req.Context().Err() != nil || !again(resp, err) {
			return resp, err
		}
		wait, ok := r.wait(req.Context(), n, resp)
		if !ok {
			return resp, err
		}
		next, rewindErr := rewind(req)
		if rewindErr != nil || !r.out.again(wait) {
			return resp, err
		}
		status, why := 0, llm.Unreachable
		if resp != nil {
			status, why = resp.StatusCode, busy(resp)
			_ = resp.Body.Close()
		}
		r.Logger.WarnContext(req.Context(), "model request is repeated", "status", status, "wait", wait, "attempt", n+1)
		r.out.pause(why, wait)
		if sleepErr := r.Sleep(req.Context(), wait); sleepErr != nil {
			return nil, sleepErr
		}
		r.out.pause("", 0)
		req = next
	}
}

// busy says what a status that is worth another try says of the model. One that names the
// time of the next try is there, and has too much to do.
func busy(resp *http.Response) llm.Fault {
	if resp.StatusCode == http.StatusServiceUnavailable && resp.Header.Get("Retry-After") != "" {
		return llm.Overloaded
	}
	return faultOf(resp.StatusCode, wireError{})
}

// wait says how long to wait, and whether waiting makes sense at all.
func (r *retry) wait(ctx context.Context, n int, resp *http.Response) (time.Duration, bool) {
	wait := backoff(n, r.Jitter)
	if resp != nil {
		if asked := retryAfter(resp.Header, r.Now()); asked > 0 {
			wait = asked + time.Duration(r.Jitter()*float64(firstWait))
		}
	}
	if until, ok := ctx.Deadline(); ok && r.Now().Add(wait).After(until) {
		return 0, false
	}
	return wait, wait <= patience+firstWait
}

// backoff doubles from firstWait to longestWait; up to half of it is jitter.
func backoff(n int, jitter func() float64) time.Duration {
	d := min(firstWait<<min(n, 10), longestWait)
	return d/2 + time.Duration(jitter()*float64(d/2))
}

// again says whether a result is worth another try. It replaces a body that it
// looked into.
func again(resp *http.Response, err error) bool {
	if err != nil {
		var untrusted *tls.CertificateVerificationError
		return !errors.As(err, &untrusted)
	}
	switch {
	case resp.StatusCode == http.StatusTooManyRequests || resp.StatusCode == http.StatusInternalServerError:
		body, readErr := io.ReadAll(io.LimitReader(resp.Body, errorCap))
		_ = resp.Body.Close()
		resp.Body = io.NopCloser(bytes.NewReader(body))
		if readErr != nil {
			return true
		}
		said, _ := parseError(body)
		fault := faultOf(resp.StatusCode, said)
		return fault == llm.Overloaded || fault == llm.Unreachable
	case resp.StatusCode == http.StatusNotImplemented:
		return false
	}
	return resp.StatusCode == http.StatusRequestTimeout || resp.StatusCode >= 500
}

// rewind gives the request again, with its body from the start.
func rewind(req *http.Request) (*http.Request, error) {
	next := req.Clone(req.Context())
	if req.Body == nil {
		return next, nil
	}
	if req.GetBody == nil {
		return nil, errors.New("the body can't be read twice")
	}
	body, err := req.GetBody()
	if err != nil {
		return nil, fmt.Errorf("rewind request: %w", err)
	}
	next.Body = body
	return next, nil
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
