package mask

import (
	"context"
	"fmt"
	"io"
	"log/slog"
)

// Error gives an error whose words hold no secret. It still wraps the original.
func (m *Mask) Error(err error) error {
	if err == nil {
		return nil
	}
	words := m.Text(err.Error())
	if words == err.Error() {
		return err
	}
	return &masking{err, words}
}

type masking struct {
	error
	words string
}

// Error implements error.
func (m *masking) Error() string { return m.words }

// Unwrap gives the error with its own words.
func (m *masking) Unwrap() error { return m.error }

// Writer masks secrets in the written text. No secret may be spread over two writes;
// callers write whole lines.
func (m *Mask) Writer(w io.Writer) io.Writer { return writer{m, w} }

type writer struct {
	m *Mask
	w io.Writer
}

// Write implements io.Writer.
func (w writer) Write(p []byte) (int, error) {
	if _, err := w.w.Write(w.m.Bytes(p)); err != nil {
		return 0, err
	}
	return len(p), nil
}

// Handler masks secrets in the log.
func (m *Mask) Handler(next slog.Handler) slog.Handler { return handler{m, next} }

type handler struct {
	m    *Mask
	next slog.Handler
}

// Enabled implements slog.Handler.
func (h handler) Enabled(ctx context.Context, level slog.Level) bool {
	return h.next.Enabled(ctx, level)
}

// Handle implements slog.Handler.
func (h handler) Handle(ctx context.Context, r slog.Record) error {
	out := slog.NewRecord(r.Time, r.Level, h.m.Text(r.Message), r.PC)
	r.Attrs(func(a slog.Attr) bool {
		out.AddAttrs(h.attr(a))
		return true
	})
	return h.next.Handle(ctx, out)
}

// WithAttrs implements slog.Handler.
func (h handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return handler{h.m, h.next.WithAttrs(h.attrs(attrs))}
}

func (h handler) attrs(list []slog.Attr) (masked []slog.Attr) {
	for _, a := range list {
		masked = append(masked, h.attr(a))
	}
	return masked
}

// WithGroup implements slog.Handler.
func (h handler) WithGroup(name string) slog.Handler { return handler{h.m, h.next.WithGroup(name)} }

func (h handler) attr(a slog.Attr) slog.Attr {
	a.Value = a.Value.Resolve()
	switch a.Value.Kind() {
	case slog.KindString:
		a.Value = slog.StringValue(h.m.Text(a.Value.String()))
	case slog.KindGroup:
		a.Value = slog.GroupValue(h.attrs(a.Value.Group())...)
	case slog.KindAny:
		if err, ok := a.Value.Any().(error); ok {
			a.Value = slog.AnyValue(h.m.Error(err))
		} else if text := fmt.Sprint(a.Value.Any()); h.m.Text(text) != text {
			a.Value = slog.StringValue(h.m.Text(text))
		}
	}
	return a
}
