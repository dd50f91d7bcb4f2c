package run_test

import (
	"context"
	"testing"
	"time"

	"nod/agent/run"
	"nod/chat"
)

// unused are counters of which nothing is used.
type unused struct{}

func (unused) Count(context.Context, string, int64, time.Duration) (int64, error) { return 0, nil }

// A limit is raised for a person or in a channel, until a day is over; the largest counts.
func TestRaisedLimits(t *testing.T) {
	now := time.Date(2026, 12, 31, 23, 59, 0, 0, time.UTC)
	limits := run.Limits{
		Person: run.Limit{Tokens: 10}, Channel: func(t chat.ThreadID) string { return t.Channel },
		Raise: []run.Raise{
			{For: []string{"user:ada", "channel:C1"}, Person: run.Limit{Tokens: 20}, Until: now.Add(time.Minute)},
			{For: []string{"user:ada"}, Person: run.Limit{Tokens: 30}, Until: now},
			{For: []string{"channel:C2"}, Person: run.Limit{Tokens: 40}, Thread: run.Limit{Tokens: 5}},
		},
	}
	for _, tt := range []struct {
		who     chat.UserID
		channel string
		after   time.Duration
		want    int64
	}{
		{"ada", "C0", 0, 20},
		{"ada", "C0", time.Minute, 10},
		{"ada", "C2", 0, 40},
		{"ben", "C0", 0, 10},
		{"ben", "C1", 0, 20},
		{"ben", "C1", time.Minute, 10},
		{"ben", "C2", time.Hour, 40},
	} {
		got, err := limits.Used(t.Context(), unused{}, now.Add(tt.after), "board", tt.who, chat.ThreadID{Platform: "board", Channel: tt.channel, Root: "1"})
		if err != nil || len(got) != 1 || got[0].Tokens != tt.want {
			t.Errorf("%v: %v, %v", tt, got, err)
		}
	}
}
