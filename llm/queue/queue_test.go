package queue_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"nod/llm"
	"nod/llm/openai"
	"nod/llm/queue"
)

// slow is a model that takes a second for each call, and notes whose it served
// and how many at once.
type slow struct {
	mu        sync.Mutex
	served    []string
	now, most int
}

func (s *slow) Complete(ctx context.Context, req llm.Request, _ func(llm.Delta)) (llm.Response, error) {
	s.mu.Lock()
	s.served = append(s.served, req.Fair)
	s.now++
	s.most = max(s.most, s.now)
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		s.now--
		s.mu.Unlock()
	}()
	select {
	case <-time.After(time.Second):
		return llm.Response{Text: "ok"}, nil
	case <-ctx.Done():
		return llm.Response{}, ctx.Err()
	}
}

// No more calls run at once than there is room for, and none is lost.
func TestParallel(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := &slow{}
		q := queue.New(m, 3)
		var wg sync.WaitGroup
		start := time.Now()
		for i := range 30 {
			wg.Go(func() {
				if _, err := q.Complete(t.Context(), llm.Request{Fair: fmt.Sprint(i)}, nil); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if took := time.Since(start); m.most != 3 || len(m.served) != 30 || took != 10*time.Second || q.Waiting() != 0 {
			t.Errorf("%d at once, %d served in %v, %d wait", m.most, len(m.served), took, q.Waiting())
		}
	})
}

// Who asks for much at once is served in turn with who asks for little, each in
// their own order.
func TestInTurn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := &slow{}
		q := queue.New(m, 1)
		var wg sync.WaitGroup
		for _, who := range []string{"a", "a", "a", "a", "b", "c", "b", "c", "d"} {
			wg.Go(func() { _, _ = q.Complete(t.Context(), llm.Request{Fair: who}, nil) })
			synctest.Wait()
		}
		wg.Wait()
		if diff := cmp.Diff([]string{"a", "a", "b", "c", "d", "a", "b", "c", "a"}, m.served); diff != "" {
			t.Errorf("served (-want +got):\n%s", diff)
		}
	})
}

// Who stops waiting holds nobody up, and neither does a call that panics.
func TestGivesUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := &slow{}
		q := queue.New(m, 1)
		var wg sync.WaitGroup
		call := func(ctx context.Context, who string, want error) {
			wg.Go(func() {
				if _, err := q.Complete(ctx, llm.Request{Fair: who}, nil); !errors.Is(err, want) {
					t.Errorf("%s: %v, want %v", who, err, want)
				}
			})
			synctest.Wait()
		}
		ctx, cancel := context.WithCancel(t.Context())
		call(t.Context(), "a", nil)
		call(ctx, "b", context.Canceled)
		call(t.Context(), "c", nil)
		cancel()
		wg.Wait()
		if diff := cmp.Diff([]string{"a", "c"}, m.served); diff != "" {
			t.Errorf("served (-want +got):\n%s", diff)
		}
		call(ctx, "d", context.Canceled)
		wg.Wait()
	})
	q := queue.New(panics{}, 1)
	for range 2 {
		func() {
			defer func() { _ = recover() }()
			_, _ = q.Complete(t.Context(), llm.Request{}, nil)
		}()
	}
}

type panics struct{}

func (panics) Complete(context.Context, llm.Request, func(llm.Delta)) (llm.Response, error) {
	panic("no")
}

// However calls come, wait and give up, the room stays what it was.
func TestRoomStays(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := &slow{}
		q := queue.New(m, 4)
		var wg sync.WaitGroup
		for i := range 2000 {
			wg.Go(func() {
				time.Sleep(time.Duration(rand.IntN(60_000)) * time.Millisecond)
				ctx, cancel := context.WithTimeout(t.Context(), time.Duration(rand.IntN(3000))*time.Millisecond)
				defer cancel()
				_, _ = q.Complete(ctx, llm.Request{Fair: fmt.Sprint(i % 50)}, nil)
			})
		}
		wg.Wait()
		if m.most > 4 || q.Waiting() != 0 {
			t.Fatalf("%d at once, %d wait", m.most, q.Waiting())
		}
		before := time.Now()
		for range 4 {
			wg.Go(func() { _, _ = q.Complete(t.Context(), llm.Request{}, nil) })
		}
		wg.Wait()
		if took := time.Since(before); took != time.Second {
			t.Errorf("4 calls took %v: room was lost", took)
		}
	})
}

// server is a provider that computes one answer after the other, a second each.
type server struct{ requests atomic.Int64 }

func (s *server) RoundTrip(req *http.Request) (*http.Response, error) {
	s.requests.Add(1)
	select {
	case <-time.After(time.Second):
	case <-req.Context().Done():
		return nil, req.Context().Err()
	}
	body := `{"choices":[{"message":{"content":"ok"},"finish_reason":"stop"}]}`
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(body)), Request: req}, nil
}

// 1,000 threads ask a model that answers one at a time, with a timeout of two
// answers: each is answered, none took too long, and nothing is computed for
// nobody.
func TestThousandThreads(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &server{}
		q := queue.New(openai.New(openai.Options{BaseURL: "http://model.test/v1", Model: "m", Timeout: 2 * time.Second, HTTP: s}), 1)
		var mu sync.Mutex
		var waits []time.Duration
		var wg sync.WaitGroup
		for i := range 1000 {
			wg.Go(func() {
				start := time.Now()
				r, err := q.Complete(t.Context(), llm.Request{Fair: fmt.Sprint(i), Messages: []llm.Message{{Role: llm.User, Text: "hi"}}}, nil)
				if err != nil || r.Text != "ok" {
					t.Errorf("thread %d: %+v, %v", i, r, err)
				}
				mu.Lock()
				waits = append(waits, time.Since(start))
				mu.Unlock()
			})
		}
		wg.Wait()
		if n := s.requests.Load(); n != 1000 || slices.Max(waits) > 1001*time.Second {
			t.Errorf("%d requests, the last was answered after %v", n, slices.Max(waits))
		}
	})
}

func BenchmarkQueue(b *testing.B) {
	q := queue.New(instant{}, 1)
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			_, _ = q.Complete(b.Context(), llm.Request{Fair: "a"}, nil)
		}
	})
}

type instant struct{}

func (instant) Complete(context.Context, llm.Request, func(llm.Delta)) (llm.Response, error) {
	return llm.Response{}, nil
}
