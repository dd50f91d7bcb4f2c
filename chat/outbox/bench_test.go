package outbox

import (
	"context"
	"fmt"
	"testing"
	"time"
)

func nothing(context.Context) error { return nil }

// BenchmarkDo is what the outbox costs a call that nothing holds back.
func BenchmarkDo(b *testing.B) {
	o := New(Options{Budget: func(string) Budget { return Budget{Rate: 1e9, Burst: 1e9} }})
	call := Call{Priority: Answer, Buckets: []string{"post", "post c"}, Group: "t", Key: "k", Run: nothing}
	b.ReportAllocs()
	for b.Loop() {
		if err := o.Do(b.Context(), call); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkDoCrowded is the same while calls to a thousand other channels wait.
func BenchmarkDoCrowded(b *testing.B) {
	o := New(Options{})
	ctx, cancel := context.WithCancel(b.Context())
	done := make(chan error)
	for i := range 1000 {
		channel := fmt.Sprint("post ", i)
		o.Pause(channel, time.Hour)
		go func() { done <- o.Do(ctx, Call{Priority: Answer, Buckets: []string{"post", channel}, Run: nothing}) }()
	}
	for o.DepthByName()["answer"] < 1000 {
	}
	call := Call{Priority: Answer, Buckets: []string{"post", "post c"}, Run: nothing}
	b.ReportAllocs()
	for b.Loop() {
		if err := o.Do(b.Context(), call); err != nil {
			b.Fatal(err)
		}
	}
	cancel()
	for range 1000 {
		if err := <-done; err == nil {
			b.Error("a call to a closed channel was made")
		}
	}
}
