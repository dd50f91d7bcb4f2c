package chat

import (
	"context"
	"errors"
)

// ErrDoubt is in the error of a post that was not sent, because another process may
// have had the thread by then. Look for the post before you send it.
var ErrDoubt = errors.New("the thread may have gone to another process")

type doubt struct{}

// WithDoubt makes every post under ctx ask, right before it is sent, whether another
// process may have the thread by now. The answer may change between the hand-over and
// the sending: a post may wait for a platform's limits, and the process may stand
// still.
func WithDoubt(ctx context.Context, doubtful func() bool) context.Context {
	return context.WithValue(ctx, doubt{}, doubtful)
}

// Doubtful asks the function of [WithDoubt]; without one there is no doubt.
func Doubtful(ctx context.Context) bool {
	doubtful, ok := ctx.Value(doubt{}).(func() bool)
	return ok && doubtful()
}
