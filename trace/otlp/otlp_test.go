package otlp_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"nod/internal/fakeotlp"
	"nod/trace"
	"nod/trace/otlp"
)

func spans(n int) []trace.Span {
	out := make([]trace.Span, n)
	for i := range out {
		out[i] = trace.Span{
			Trace: [16]byte{1}, ID: [8]byte{byte(i), byte(i >> 8), 1}, Parent: [8]byte{9}, Name: fmt.Sprint("span ", i), Kind: trace.Client,
			Start: time.Unix(1, 5), End: time.Unix(2, 7), Error: "failed",
			Attrs: []trace.Attr{{Key: "a", Value: "text"}, {Key: "n", Value: int64(1) << 60}, {Key: "b", Value: true}, {Key: "l", Value: []string{"stop"}}},
		}
	}
	return out
}

// A collector that reads strictly takes every span, with its exact times.
func TestSend(t *testing.T) {
	t.Parallel()
	c := fakeotlp.Start(t, nil)
	s := otlp.New(otlp.Options{URL: c.URL + "/", Headers: map[string]string{"Authorization": "Bearer x"}})
	if err := s.Deliver(t.Context(), spans(3)); err != nil {
		t.Fatal(err)
	}
	got := c.Spans()
	if len(got) != 3 || got[0].Start != "1000000005" || got[0].End != "2000000007" || got[0].Attr("n") != "1152921504606846976" || got[0].Attr("error.type") != "failed" || got[0].Attr("l") != "stop" {
		t.Errorf("spans %+v", got)
	}
	if raw := string(otlp.Encode(otlp.Resource{Instance: "a process"}, nil)); !strings.Contains(raw, `{"key":"service.instance.id","value":{"stringValue":"a process"}}`) {
		t.Errorf("the process is not named: %s", raw)
	}
	if c.Header("Authorization") != "Bearer x" {
		t.Error("the header was not sent")
	}
}

// A collector that is busy gets the same again; one that refuses does not.
func TestAgain(t *testing.T) {
	t.Parallel()
	c := fakeotlp.Start(t, func(n int) int {
		if n == 1 {
			return http.StatusServiceUnavailable
		}
		return http.StatusOK
	})
	if err := otlp.New(otlp.Options{URL: c.URL}).Deliver(t.Context(), spans(1)); err != nil || len(c.Spans()) != 1 {
		t.Errorf("busy once: %v", err)
	}
	c = fakeotlp.Start(t, func(int) int { return http.StatusUnauthorized })
	if err := otlp.New(otlp.Options{URL: c.URL}).Deliver(t.Context(), spans(1)); err == nil || c.Requests() != 1 {
		t.Errorf("refused: %v, %d requests", err, c.Requests())
	}
}

// Spans and their headers go only to the address in the file. Another responder there,
// such as a sign-in page, does not count as the collector.
func TestLeadsElsewhere(t *testing.T) {
	t.Parallel()
	there := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("elsewhere got %s with the key %q", r.Method, r.Header.Get("Api-Key"))
	}))
	defer there.Close()
	for _, status := range []int{http.StatusFound, http.StatusTemporaryRedirect} {
		here := httptest.NewServer(http.RedirectHandler(there.URL, status))
		err := otlp.New(otlp.Options{URL: here.URL, Headers: map[string]string{"Api-Key": "x"}}).Deliver(t.Context(), spans(1))
		here.Close()
		if err == nil {
			t.Errorf("status %d: the spans count as taken", status)
		}
	}
}

// away is a collector that nobody reaches.
type away struct{}

// RoundTrip implements http.RoundTripper.
func (away) RoundTrip(*http.Request) (*http.Response, error) { return nil, context.DeadlineExceeded }

// While the collector is away nobody waits, the sender keeps a limited number of
// batches, and counts the dropped ones.
func TestAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var lost, sent atomic.Int64
		s := otlp.New(otlp.Options{
			URL: "http://collector.example", Client: &http.Client{Transport: away{}},
			Lost: func(n int) { lost.Add(int64(n)) }, Sent: func(n int) { sent.Add(int64(n)) },
		})
		began := time.Now()
		for range 5000 {
			s.Put(spans(1))
		}
		if waited := time.Since(began); waited > 0 || lost.Load() != 4000 {
			t.Errorf("waited %v, %d lost", waited, lost.Load())
		}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- s.Run(ctx) }()
		time.Sleep(time.Hour)
		if !s.Idle() || lost.Load() != 5000 || sent.Load() != 0 {
			t.Errorf("after an hour: %d lost, %d sent", lost.Load(), sent.Load())
		}
		s.Put(spans(1))
		cancel()
		if err := <-ended; err != nil || lost.Load() != 5001 {
			t.Errorf("the end: %v, %d lost", err, lost.Load())
		}
	})
}

// near is a collector that takes everything at once.
type near struct{}

// RoundTrip implements http.RoundTripper.
func (near) RoundTrip(*http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: http.NoBody}, nil
}

// At the end the exporter sends the waiting spans.
func TestEnd(t *testing.T) {
	t.Parallel()
	for range 20 { // what is ready first is anybody's guess
		var sent atomic.Int64
		s := otlp.New(otlp.Options{URL: "http://collector.example", Client: &http.Client{Transport: near{}}, Sent: func(n int) { sent.Add(int64(n)) }})
		for range 3 {
			s.Put(spans(400))
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := s.Run(ctx); err != nil || sent.Load() != 1200 || !s.Idle() {
			t.Errorf("%v, %d spans were sent", err, sent.Load())
		}
	}
}
