// Package liberationmonoitalic stands in for the font of that name.
package liberationmonoitalic

import "golang.org/x/image/font/gofont/goregular"

// TTF is not that font.
var TTF = goregular.TTF
