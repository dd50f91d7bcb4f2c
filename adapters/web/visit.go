package web

import (
	"context"

	"nod/chat"
)

// Visit is what a person sees: all channels, and their own conversation with nod.
func (a *Adapter) Visit(_ context.Context, _ chat.ThreadID, who chat.User) (chat.Visit, error) {
	return chat.Visit{
		Who: who,
		Sees: func(t chat.ThreadID) bool {
			return view{Me: who}.reads(t)
		},
		Member: func(context.Context, chat.ThreadID, string) (bool, error) { return false, nil },
		Link: func(t chat.ThreadID, ref chat.MessageRef) string {
			return "http://" + a.listens.Addr().String() + view{Me: who}.to(t, ref)
		},
	}, nil
}
