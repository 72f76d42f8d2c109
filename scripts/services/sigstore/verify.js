// Verifies a Sigstore bundle with a public key, and prints what is signed. Exits with 1 and the reason if it is not good.
//
//   node verify.js PUBLIC_KEY <BUNDLE
'use strict';

const { createHash, createPublicKey } = require('node:crypto');
const { readFileSync } = require('node:fs');
const { bundleFromJSON } = require('@sigstore/bundle');
const { Verifier, toSignedEntity, toTrustMaterial } = require('@sigstore/verify');

function verify(pem, json) {
  const rawBytes = createPublicKey(pem).export({ format: 'der', type: 'spki' });
  const hint = createHash('sha256').update(rawBytes).digest('base64');
  const bundle = bundleFromJSON(JSON.parse(json));
  const nobody = { certificateAuthorities: [], timestampAuthorities: [], tlogs: [], ctlogs: [] };
  // The key is trusted: neither certificates nor logs of sigstore stand behind it.
  const none = { ctlogThreshold: 0, tlogThreshold: 0, timestampThreshold: 0 };
  new Verifier(toTrustMaterial(nobody, { [hint]: { rawBytes } }), none).verify(toSignedEntity(bundle));
  return bundle.content.dsseEnvelope.payload;
}

try {
  process.stdout.write(verify(readFileSync(process.argv[2]), readFileSync(0, 'utf8')));
} catch (error) {
  console.error(`not verified: ${error.message}`);
  process.exitCode = 1;
}
