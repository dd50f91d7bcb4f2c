package policy

// Facts bounds what people may write down in a channel; the zero one lets them write
// nothing.
type Facts struct {
	Most int // how many a channel may have
	Size int // of one, in characters
}
