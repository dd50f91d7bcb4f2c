package patience_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"nod/chat/patience"
)

var errSlow = errors.New("slow")

// The time in which people are waited for does not count, however many are.
func TestPause(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, l, stop := patience.With(t.Context(), time.Minute, errSlow)
		defer stop()
		one, two := l.Pause(), l.Pause()
		time.Sleep(time.Hour)
		one()
		one() // twice is once
		time.Sleep(time.Hour)
		two()
		time.Sleep(59 * time.Second)
		if ctx.Err() != nil {
			t.Fatal("it ended while a person was waited for")
		}
		time.Sleep(2 * time.Second)
		if !errors.Is(context.Cause(ctx), errSlow) {
			t.Errorf("it ended with %v", context.Cause(ctx))
		}
	})
}
