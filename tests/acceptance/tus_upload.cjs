// Uploads a file with tus-js-client as people install it, and says when a piece is there.
// node tus_upload.cjs FOLDER_OF_THE_CLIENT ADDRESS AUTHORIZATION FILE PIECE_BYTES
const { createRequire } = require("node:module");
const fs = require("node:fs");

const [folder, endpoint, authorization, path, piece] = process.argv.slice(2);
const tus = createRequire(`${folder}/`)("tus-js-client");

const upload = new tus.Upload(fs.createReadStream(path), {
  endpoint,
  chunkSize: Number(piece),
  uploadSize: fs.statSync(path).size,
  headers: { Authorization: authorization },
  metadata: { filename: "film.mp4", filetype: "video/mp4" },
  retryDelays: Array(400).fill(250),
  onChunkComplete: (size, accepted) => console.log(`there ${accepted}`),
  onError: (error) => {
    console.error(error);
    process.exit(1);
  },
  onSuccess: () => console.log("done"),
});
upload.start();
