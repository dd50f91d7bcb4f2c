package discord

import (
	"context"
	"errors"
	"net/http"
	"net/url"

	"nod/chat"
	"nod/chat/intake"
)

// attached fetches the files of a message, as far as the model can use them.
func (a *Adapter) attached(ctx context.Context, thread chat.ThreadID, files []attachment) []chat.File {
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
			Fetch: func(ctx context.Context, most int64) ([]byte, error) { return a.rest.download(ctx, f.URL, most) },
		})
	}
	return intake.Store{Keep: a.o.Inbox.Keep, Failed: func(thread chat.ThreadID, err error) {
		a.log.Warn("fetch an attached file", "thread", thread.String(), "error", err)
	}}.Take(ctx, thread, came)
}

// keeps says whether an address is one at which Discord keeps files.
func (w *rest) keeps(u *url.URL) bool {
	if u.Scheme == "https" && (u.Host == "cdn.discordapp.com" || u.Host == "media.discordapp.net") {
		return true
	}
	own, err := url.Parse(w.base)
	return err == nil && u.Host == own.Host && u.Scheme == own.Scheme
}

// download fetches a file. Its address is all that it takes; the token stays
// here.
func (w *rest) download(ctx context.Context, address string, most int64) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil || !w.keeps(req.URL) {
		return nil, errors.New("fetch a file: bad address")
	}
	req.Header.Set("User-Agent", w.agent)
	return intake.Download(w.http, req, most, nil)
}
