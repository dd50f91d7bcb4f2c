package discord

import (
	"context"

	"nod/adapters/discord/api"
	"nod/chat"
	"nod/chat/intake"
)

// attached fetches the files of a message, as far as the model can use them.
func (a *Adapter) attached(ctx context.Context, thread chat.ThreadID, files []api.Attachment) []chat.File {
	if len(files) == 0 {
		return nil
	}
	var came []intake.File
	for _, f := range files {
		if f.ID == "" && f.Filename == "" {
			continue
		}
		came = append(came, intake.File{
			File:  chat.File{Name: chat.FirstOf(f.Filename, f.ID), MediaType: f.ContentType, Size: f.Size},
			Fetch: func(ctx context.Context, most int64) ([]byte, error) { return a.rest.Download(ctx, f.URL, most) },
		})
	}
	return a.TakeFiles(ctx, thread, came)
}
