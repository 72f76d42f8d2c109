// Makes the replica set of one node, and a user of Attestry that can read and write its database alone. It changes
// nothing when it is run again, but for the user's password.
const admin = connect(
  `mongodb://root:${process.env.MONGODB_ROOT_PASSWORD}@mongodb:27017/admin?authSource=admin&directConnection=true`,
);

try {
  admin.adminCommand({ replSetGetStatus: 1 });
} catch (error) {
  if (error.codeName !== "NotYetInitialized") throw error;
  admin.adminCommand({ replSetInitiate: { _id: "rs0", members: [{ _id: 0, host: "mongodb:27017" }] } });
}
// The only member becomes the primary within seconds. Who waits for this gives up by a limit of their own.
while (!admin.hello().isWritablePrimary) sleep(200);

const rights = { pwd: process.env.MONGODB_PASSWORD, roles: [{ role: "readWrite", db: "attestry" }] };
if (admin.getUser("attestry")) admin.updateUser("attestry", rights);
else admin.createUser({ user: "attestry", ...rights });
