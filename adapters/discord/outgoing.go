package discord

import (
	"context"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"nod/chat"
	"nod/chat/markdown"
)

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
	if c, ok := a.atlas.channel(placeOf(thread).channel); ok && a.atlas.tier(c.GuildID) >= boosted {
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
func (a *Adapter) filePart(ctx context.Context, thread chat.ThreadID, p chat.Post) (part, error) {
	out := part{mark: p.Mark(thread)}
	data, err := p.File.Content(func(blob string) ([]byte, error) { return a.o.Inbox.Blob(ctx, thread, blob) })
	switch {
	case err != nil:
		return part{}, err
	case len(data) == 0:
		out.content = noFile(p, out.mark, "it is empty, or not kept any more")
	case len(data) > a.largest(thread):
		out.content = noFile(p, out.mark, tooLarge(len(data), a.largest(thread)))
	default:
		out.file = &upload{chat.MarkedName(p.File.Name, out.mark), mediaType(p.File.MediaType), "The file " + chat.Flat(chat.FileName(p.File.Name)) + " of this conversation", data}
	}
	if out.gallery() { // where Discord takes no gallery it is attached
		out.plain = &part{mark: out.mark, file: &upload{out.file.name, out.file.kind, out.file.says, out.file.data}, attached: true}
	}
	return out, nil
}

// A picture in a message of its own is shown as a gallery, which has room for words
// about it; a gallery names its file, which not every name is fit for.
var (
	pictures  = []string{"image/png", "image/jpeg", "image/gif", "image/webp"}
	plainName = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,200}$`)
)

func (p part) gallery() bool {
	return !p.attached && p.mark != "" && p.file != nil && slices.Contains(pictures, p.file.kind) && plainName.MatchString(p.file.name)
}

// shown is a gallery of one picture
// (https://discord.com/developers/docs/components/reference#media-gallery).
func (f upload) shown() map[string]any {
	item := map[string]any{"media": map[string]any{"url": "attachment://" + f.name}, "description": f.says}
	return map[string]any{"type": 12, "items": []any{item}}
}

// noFile says why a file is not there.
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

// bears says whether a message is the one that a mark stands for.
func (m message) bears(mark string) bool {
	return strings.Contains(m.Content, "-"+mark) || strings.Contains(string(m.Components), "-"+mark) ||
		slices.ContainsFunc(m.Attachments, func(f attachment) bool { return chat.HasMark(f.Filename, mark) })
}

// unfit says whether Discord refused the file rather than the message: too
// large, or of a kind that it does not take, or files are not allowed here.
func unfit(err error) bool {
	var e *apiError
	return errors.As(err, &e) && (e.Code == codeTooLarge || e.Status == http.StatusRequestEntityTooLarge ||
		e.Status == http.StatusBadRequest || e.Status == http.StatusForbidden)
}

// plainly puts a line in place of the file that Discord refused.
func (s *sending) plainly(n int, err error) {
	s.a.log.Warn("discord refused a file, a line says so", "thread", s.thread.String(), "error", err)
	p := &s.parts[n]
	why := "Discord does not take it here"
	if code(err) == codeTooLarge {
		why = tooLarge(len(p.file.data), s.a.largest(s.thread))
	}
	p.content, p.file = noFile(s.post, p.mark, why), nil
}
