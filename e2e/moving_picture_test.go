package e2e

import (
	"bytes"
	"cmp"
	"image"
	"image/color"
	"image/gif"
	"image/png"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// mostPicture is how large the moving picture of the readme may be, in bytes.
const mostPicture = 1_500_000

// film is pictures of one part of a page, each for a time.
type film struct {
	b      *browser
	within image.Rectangle
	frames []image.Image
	last   []time.Duration
}

// take takes a picture that is shown for a time. One that shows what the one
// before showed lengthens that.
func (f *film) take(shown time.Duration) {
	f.b.t.Helper()
	whole, err := png.Decode(bytes.NewReader(read(f.b, chromedp.CaptureScreenshot())))
	if err != nil {
		f.b.t.Fatal(err)
	}
	frame := image.NewRGBA(image.Rect(0, 0, f.within.Dx(), f.within.Dy()))
	for y := range f.within.Dy() {
		for x := range f.within.Dx() {
			frame.Set(x, y, whole.At(f.within.Min.X+x, f.within.Min.Y+y))
		}
	}
	if n := len(f.frames); n > 0 && bytes.Equal(f.frames[n-1].(*image.RGBA).Pix, frame.Pix) {
		f.last[n-1] += shown
		return
	}
	f.frames, f.last = append(f.frames, frame), append(f.last, shown)
}

// follow takes pictures one after the other until something is so, and then until
// nothing moves.
func (f *film) follow(what string, done func() bool) {
	f.b.t.Helper()
	f.b.until(what, func() bool { f.take(120 * time.Millisecond); return done() })
	still := 0
	f.b.until("nothing moves", func() bool {
		before := len(f.frames)
		f.take(120 * time.Millisecond)
		if still++; len(f.frames) != before {
			still = 0
		}
		return still >= 6
	})
}

// encode writes the film with the colours that it has most of, and of each picture
// only what differs from the one before.
func (f *film) encode() ([]byte, error) {
	counts := map[color.RGBA]int{}
	for _, frame := range f.frames {
		pix := frame.(*image.RGBA).Pix
		for i := 0; i < len(pix); i += 4 {
			counts[color.RGBA{pix[i], pix[i+1], pix[i+2], 255}]++
		}
	}
	colours := make([]color.RGBA, 0, len(counts))
	for c := range counts {
		colours = append(colours, c)
	}
	slices.SortFunc(colours, func(a, b color.RGBA) int {
		return cmp.Or(counts[b]-counts[a], int(a.R)-int(b.R), int(a.G)-int(b.G), int(a.B)-int(b.B))
	})
	palette := color.Palette{}
	for _, c := range colours[:min(len(colours), 255)] {
		palette = append(palette, c)
	}
	nearest := map[color.RGBA]uint8{}
	out := gif.GIF{}
	for i, frame := range f.frames {
		rgba := frame.(*image.RGBA)
		box := rgba.Bounds()
		if i > 0 {
			box = differs(f.frames[i-1].(*image.RGBA), rgba)
		}
		drawn := image.NewPaletted(box, palette)
		for y := box.Min.Y; y < box.Max.Y; y++ {
			for x := box.Min.X; x < box.Max.X; x++ {
				c := rgba.RGBAAt(x, y)
				at, known := nearest[c]
				if !known {
					at = uint8(palette.Index(c))
					nearest[c] = at
				}
				drawn.SetColorIndex(x, y, at)
			}
		}
		out.Image, out.Delay, out.Disposal = append(out.Image, drawn), append(out.Delay, int(f.last[i]/(10*time.Millisecond))), append(out.Disposal, gif.DisposalNone)
	}
	var b bytes.Buffer
	err := gif.EncodeAll(&b, &out)
	return b.Bytes(), err
}

// differs is the smallest box with all that differs between two pictures.
func differs(a, b *image.RGBA) image.Rectangle {
	var box image.Rectangle
	for y := range b.Rect.Dy() {
		from, to := y*b.Stride, (y+1)*b.Stride
		if bytes.Equal(a.Pix[from:to], b.Pix[from:to]) {
			continue
		}
		for x := range b.Rect.Dx() {
			if a.RGBAAt(x, y) != b.RGBAAt(x, y) {
				box = box.Union(image.Rect(x, y, x+1, y+1))
			}
		}
	}
	return box
}

// TestTheMovingPictureOfTheReadmeIsOfTheDemo sends one, watches the band narrow,
// and redrives the rest; with -update into the documentation.
func TestTheMovingPictureOfTheReadmeIsOfTheDemo(t *testing.T) {
	d := startDemo(t)
	cohort := d.sameDefect(t, d.api(t), "trailer without root", 400)
	b := d.signIn(t, "reviewer")
	d.newParser(t)
	b.viewport(1400, 1000) // so high that no press scrolls
	b.theme("light")
	b.open(d.address + "/cohorts/" + cohort)
	b.says("Does intake-parser@20251230 fix it?")
	box := evaluate[[]int](b, `((bar, title) => [bar.left - 16, title.top - 10, bar.right + 16, bar.bottom + 12].map(Math.round))(document.getElementById("prove").getBoundingClientRect(), document.querySelector("h1").getBoundingClientRect())`)
	f := film{b: b, within: image.Rect(box[0], box[1], box[2], box[3])}
	press := func(words string) {
		b.until(words+" is offered", func() bool { return b.offers(words) })
		b.press(words)
	}
	offers := func(words string) func() bool {
		return func() bool { return b.offers(words) && !strings.Contains(b.textOf(".prove .actions"), "Pause") }
	}
	f.take(1800 * time.Millisecond)
	press("Send one")
	f.follow("one is through", offers("Send next 5"))
	f.take(1500 * time.Millisecond)
	press("Send next 5")
	f.follow("five are through", offers("Send next 25"))
	f.take(1200 * time.Millisecond)
	press("Send next 25")
	f.follow("25 are through", offers("Send next 100"))
	f.take(1200 * time.Millisecond)
	press("Redrive the rest")
	f.follow("all are through", func() bool { return strings.Contains(b.text(), "got in,") })
	f.take(3 * time.Second)
	picture, err := f.encode()
	if err != nil {
		t.Fatal(err)
	}
	if len(picture) > mostPicture {
		t.Errorf("the picture has %d bytes, want at most %d", len(picture), mostPicture)
	}
	if len(f.frames) < 10 {
		t.Errorf("nothing moves in %d pictures", len(f.frames))
	}
	path := filepath.Join(t.TempDir(), "prove.gif")
	if *update {
		path = filepath.Join("..", "docs", "screenshots", "prove.gif")
	}
	if err := os.WriteFile(path, picture, 0o644); err != nil {
		t.Fatal(err)
	}
	t.Logf("%d pictures, %d bytes", len(f.frames), len(picture))
}
