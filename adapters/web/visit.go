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
			return t.Platform == Platform && (!isDirect(t.Channel) || t == directOf(who.ID))
		},
		Member: func(context.Context, chat.ThreadID, string) (bool, error) { return false, nil },
		Link: func(t chat.ThreadID, ref chat.MessageRef) string {
			v := view{Me: who, Channel: t.Channel, Root: t.Root}
			if isDirect(t.Channel) {
				v.Channel = directName
			}
			return "http://" + a.listens.Addr().String() + v.url("/") + "#" + ref.ID
		},
	}, nil
}
