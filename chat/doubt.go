package chat

import (
	"context"
	"errors"
)

// ErrDoubt is in the error of a post that was not sent, since by the time its turn
// came another process may have had the thread. It has to be looked for first.
var ErrDoubt = errors.New("the thread may have gone to another process")

type doubt struct{}

// WithDoubt has whatever is sent under ctx ask, right before it is sent, whether
// the thread may have gone to another process by now. What was true when a post
// was handed over need not be true when its turn comes: it may have waited for a
// platform's limits, or the whole process may have stood still.
func WithDoubt(ctx context.Context, doubtful func() bool) context.Context {
	return context.WithValue(ctx, doubt{}, doubtful)
}

// Doubtful asks what [WithDoubt] was given; without it there is no doubt.
func Doubtful(ctx context.Context) bool {
	doubtful, ok := ctx.Value(doubt{}).(func() bool)
	return ok && doubtful()
}
