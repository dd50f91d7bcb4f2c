package discord

import (
	"context"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"strings"

	"nod/adapters/discord/api"
	"nod/adapters/discord/layout"
	"nod/chat"
	"nod/chat/intake"
	"nod/chat/markdown"
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
			File:  chat.File{Name: chat.FirstOf(f.Filename, f.ID), MediaType: f.ContentType, Size: int64(f.Size)},
			Fetch: func(ctx context.Context, most int64) ([]byte, error) { return a.rest.Download(ctx, f.URL, most) },
		})
	}
	return a.TakeFiles(ctx, thread, came)
}

// mostUpload is the largest file that a bot may attach
// (https://discord.com/developers/docs/reference#uploading-files). In a server that
// has been boosted far enough it is 50 MiB or more, of which a call takes half. What
// an interaction says of it counts whoever gave it, too, and so not for a post.
const (
	mostUpload  = 10 << 20
	mostBoosted = 24 << 20
	boosted     = 2 // the tier
)

// largest is the largest file that may be attached in a conversation.
func (a *Adapter) largest(thread chat.ThreadID) int {
	if c, ok := a.atlas.Known(api.PlaceOf(thread).Channel); ok && a.atlas.Tier(c.GuildID) >= boosted {
		return mostBoosted
	}
	return mostUpload
}

// codeTooLarge is Discord's word for a request or file that is too large.
const codeTooLarge = 40005

// filePart writes a file as a message. The nonce keeps it from being made twice
// for some minutes only, and a message with a file alone says nothing by which
// it could be known after that. So the name of the file bears the mark of its
// post. Where there is nothing to attach, a line says so; it names the file in
// the same way.
func (a *Adapter) filePart(ctx context.Context, thread chat.ThreadID, p chat.Post) (layout.Part, error) {
	out := layout.Part{Mark: p.Mark(thread)}
	data, err := p.File.Content(func(blob string) ([]byte, error) { return a.o.Inbox.Blob(ctx, thread, blob) })
	switch {
	case err != nil:
		return layout.Part{}, err
	case len(data) == 0:
		out.Content = noFile(p, out.Mark, "it is empty, or not kept any more")
	case len(data) > a.largest(thread):
		out.Content = noFile(p, out.Mark, tooLarge(len(data), a.largest(thread)))
	default:
		out.File = &api.Upload{Name: chat.MarkedName(p.File.Name, out.Mark), Kind: mediaType(p.File.MediaType), Says: "The file " + chat.Flat(chat.FileName(p.File.Name)) + " of this conversation", Data: data}
	}
	return out, nil
}

func noFile(p chat.Post, mark, why string) string {
	return "The file " + markdown.Inline(chat.MarkedName(p.File.Name, mark)) + " can't be shown: " + why + "."
}

func tooLarge(n, most int) string {
	size := fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
	if n > most {
		size += fmt.Sprintf(", and the most is %d MiB", most>>20)
	}
	return "it is too large for Discord (" + size + ")"
}

// mediaType is a media type as a tool gave it, or one that means nothing, so
// that it can be no more than that in a header.
func mediaType(said string) string {
	kind, params, err := mime.ParseMediaType(said)
	if err == nil {
		said = mime.FormatMediaType(kind, params)
	}
	if err != nil || said == "" || !strings.Contains(kind, "/") {
		return "application/octet-stream"
	}
	return said
}

// unfit says whether Discord refused the file rather than the message: too
// large, or of a kind that it does not take, or files are not allowed here.
func unfit(err error) bool {
	var e *api.Error
	return errors.As(err, &e) && (e.Code == codeTooLarge || e.Status == http.StatusRequestEntityTooLarge ||
		e.Status == http.StatusBadRequest || e.Status == http.StatusForbidden)
}

// plainly puts a line in place of the file that Discord refused.
func (s *sending) plainly(n int, err error) {
	s.a.log.Warn("discord refused a file, a line says so", "thread", s.thread.String(), "error", err)
	p := &s.parts[n]
	why := "Discord does not take it here"
	if api.Code(err) == codeTooLarge {
		why = tooLarge(len(p.File.Data), s.a.largest(s.thread))
	}
	p.Content, p.File = noFile(s.post, p.Mark, why), nil
}
