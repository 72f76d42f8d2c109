package pdf

import "attestry/evidence/audit"

var lostColumns = []column{{"File of the package and its SHA-256", 94}, {"Attestation", 50}, {"State", 30}}

// lost lays out which files of evidence the package does not have, if there are any.
func (r *report) lost() {
	if len(r.Lost) == 0 {
		return
	}
	r.section("Lost evidence")
	r.introduce("These files were stored with their attestations. The object store no longer has them as they were stored, so that they are not in the package.")
	list(&r.layout, lostColumns, r.Lost, maxOthers, "lost file", "", func(file audit.LostEvidence) []cell {
		state := "missing"
		if file.Reason == audit.EvidenceAltered {
			state = "altered"
		}
		attestation := cell{smallText("Id " + file.Attestation)}
		if a := r.byID[file.Attestation]; a != nil {
			attestation = append(attestationName(a), attestation...)
		}
		return []cell{
			{{text: file.Path, style: body}, {text: file.SHA256, style: digits}},
			attestation,
			{{text: state, style: strong.in(red)}},
		}
	})
}

// verification lays out the last page: how to verify the integrity of the package.
func (r *report) verification() {
	command := style{monospaced, 8.5, ink}
	r.section("How to verify this package")
	r.note("The file SHA256SUMS of the package has the SHA-256 of every other file but manifest.json and this report. In the folder that the package was unpacked to, this command compares all of them:")
	r.print(paragraph{text: "sha256sum -c SHA256SUMS", style: command})
	r.y += 4
	r.note("The SHA-256 of SHA256SUMS itself is printed on the first page of this report and, in short form, at the foot of each page. This command shows it:")
	r.print(paragraph{text: "sha256sum SHA256SUMS", style: command}, paragraph{text: orDash(r.Checksum), style: digits, space: 1})
	r.y += 4
	r.note("In a copy of the source code of Attestry, this command verifies a package that is still packed:")
	r.print(paragraph{text: "go run ./scripts/verify-package package.tgz", style: command})
	r.y += 4
	r.note("The checksums show whether files were changed after the package was made. They do not show who made it: ask the service for the SHA-256 of the package, or compare the SHA-256 of SHA256SUMS with the one of a package of the same trail that you have fetched yourself.")
	r.note("Fingerprints of artifacts are the SHA-256 of their content. Compare them with what you have built or run, for example by sha256sum, or for images by their digest.")
}
